//! Randomness: the one place that the gate, the log and what people set up have it from. `toolgate-workspace` and `toolgate-sandbox`, which
//! know no crate of ours, ask the system themselves.

use std::io;

/// Fills these bytes with what nobody can guess.
pub fn fill_with_random(bytes: &mut [u8]) -> io::Result<()> {
    #[cfg(target_os = "linux")]
    {
        use rustix::rand::{GetRandomFlags, getrandom};
        let mut filled = 0;
        while let Some(rest) = bytes.get_mut(filled..).filter(|rest| !rest.is_empty()) {
            filled += getrandom(rest, GetRandomFlags::empty())?;
        }
        Ok(())
    }
    #[cfg(not(target_os = "linux"))]
    {
        use std::io::Read as _;
        std::fs::File::open("/dev/urandom")?.read_exact(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::fill_with_random;

    #[test]
    fn every_byte_is_filled_and_none_comes_twice() {
        let mut seen = vec![[0_u8; 4096]; 2];
        for bytes in &mut seen {
            fill_with_random(bytes).unwrap();
            // Sixteen zeros in a row come once in 2^115 runs.
            assert!(!bytes.windows(16).any(|part| part == [0; 16]));
        }
        assert_ne!(seen[0], seen[1]);
    }
}
