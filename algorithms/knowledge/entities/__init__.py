"""Which persons, projects, services, tools, files and places a text names, and which names are of the same one."""
