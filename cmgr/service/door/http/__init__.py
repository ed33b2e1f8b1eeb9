"""HTTP on a listening socket."""
