//! What people set up, and nothing of it on the hook's path: settings files and how they are compiled, the
//! registration with each host, and the doctor that looks at both.

pub mod compile;
pub mod doctor;
pub mod register;
