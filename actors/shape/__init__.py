"""Shape: memories as hypervector records of roles and fillers, and questions about their structure."""
