//! Passes stdin on to stdout without secrets, line by line, as the text comes in.
//!
//! ```sh
//! env | cargo run -p toolgate-examples --bin scrub
//! ```
//!
//! A secret is found whole wherever the pieces of the text are cut. How many there were is said on stderr.

#![expect(clippy::print_stderr, reason = "stdout belongs to the text")]

use std::io::{self, Read, Write};

use toolgate_secrets::{Marks, Rules, Stream};

fn main() -> io::Result<()> {
    let rules = Rules::default();
    let mut stream = Stream::new(&rules, Marks::Plain);
    let (mut input, mut output) = (io::stdin().lock(), io::stdout().lock());
    let (mut piece, mut certain) = (vec![0; 64 * 1024], Vec::new());
    loop {
        let length = input.read(&mut piece)?;
        if length == 0 {
            break;
        }
        stream.push(piece.get(..length).unwrap_or_default(), &mut certain);
        output.write_all(&certain)?;
        output.flush()?;
        certain.clear();
    }
    let count = stream.finish(&mut certain);
    output.write_all(&certain)?;
    eprintln!("secrets replaced: {count}");
    Ok(())
}
