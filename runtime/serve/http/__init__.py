"""HTTP: the routes, the server on its sockets, and who may connect over TCP."""
