//! Object identity: what a URL addresses, whatever its spelling.
