"""Readings of transcripts as tables, as the tests of readers have them."""

from tests.hooks.conftest import read as read
from tests.hooks.conftest import table as table
