"""What is known of each language, a module each; `table` names them all. docs/languages.md says how to add one."""

__all__ = ["de", "en", "es", "fr", "ja", "pt", "table", "th", "zh"]
