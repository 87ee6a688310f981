//! Contents that show whether they are whole: the first eight bytes say what all the others have to be.

/// One content for each number, of up to 40 KB.
pub(crate) fn content(number: u64) -> Vec<u8> {
    let length = usize::try_from(number * 7919 % 40_000).unwrap();
    let mut content = number.to_le_bytes().to_vec();
    content.resize(8 + length, number.to_le_bytes()[0]);
    content
}

/// The number of a content; a torn or mixed one fails the test.
pub(crate) fn number(found: &[u8]) -> u64 {
    let (first, _) = found.split_first_chunk().expect("a number in front");
    let number = u64::from_le_bytes(*first);
    assert!(found == content(number), "{} bytes are not content {number}", found.len());
    number
}
