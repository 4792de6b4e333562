try:
    from .missing import robust
except ImportError:
    from .plain import robust

__all__ = ["robust"]
