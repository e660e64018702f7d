"""The version of this code, in one place: the package, the log and the processes all name it."""

__version__ = "0.1.0"
