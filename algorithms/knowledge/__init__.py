"""Knowledge: subject, relation and object, extracted from text by patterns."""
