from .speech import spoken as spoken
