//! Registration with every host and its diagnosis, through the binary, on a machine of its own: what `init` writes,
//! that `uninstall` gives back the very bytes, that the lines work as a host starts them, and what `doctor` says.

mod diagnosis;
mod lines;
mod machine;
mod registration;
