from .a_through import note as note_through

__all__ = ["note_through"]
