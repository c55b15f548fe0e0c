"""Features that stand for a dictionary: the compiled form of `feature_array.py`, which says what it means."""

from collections.abc import Mapping


cdef class FeatureArray:
    """Immutable features with a number each, in order."""

    cpdef dict as_dict(self):
        """Return a new dictionary of the same features and numbers in the same order."""
        raise NotImplementedError

    def __len__(self):
        return self.n

    def __iter__(self):
        return iter(self.as_dict())

    def __contains__(self, name):
        return name in self.as_dict()

    def __getitem__(self, name):
        return self.as_dict()[name]

    def __eq__(self, other):
        if isinstance(other, FeatureArray):
            other = (<FeatureArray>other).as_dict()
        return self.as_dict() == other

    __hash__ = None

    def __repr__(self):
        return repr(self.as_dict())

    def get(self, name, default=None):
        """Return the value of a feature, `default` if there is none of this name."""
        return self.as_dict().get(name, default)

    def keys(self):
        """Return the names."""
        return self.as_dict().keys()

    def values(self):
        """Return the values, in the order of the names."""
        return self.as_dict().values()

    def items(self):
        """Return (name, value), in order."""
        return self.as_dict().items()


Mapping.register(FeatureArray)
