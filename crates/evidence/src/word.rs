//! What a later version may write and this one does not know: words and fields. Both are kept as they were written.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use serde::de::value::{self, StrDeserializer};
use serde::de::{DeserializeOwned, Error, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use toolgate_model::{Answer, Decision, FindingKind};

use crate::in_order;

/// A word of a record as it was written, and what it means if this version knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Word<T> {
    text: Cow<'static, str>,
    meaning: Option<T>,
}

impl<T: Copy> Word<T> {
    /// What it means; `None` for a word of a later version.
    pub fn known(&self) -> Option<T> {
        self.meaning
    }
}

impl<T> Word<T> {
    /// As it was written.
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

/// A value that records name by one word.
pub trait Spelled: Copy + DeserializeOwned {
    /// The word that is written. Others may be read for the same value: the words of earlier versions.
    fn spelling(self) -> &'static str;
}

impl Spelled for Decision {
    fn spelling(self) -> &'static str {
        self.word()
    }
}

impl Spelled for FindingKind {
    fn spelling(self) -> &'static str {
        self.word()
    }
}

impl Spelled for Answer {
    fn spelling(self) -> &'static str {
        self.word()
    }
}

impl<T: Spelled> From<T> for Word<T> {
    fn from(value: T) -> Word<T> {
        Word { text: Cow::Borrowed(value.spelling()), meaning: Some(value) }
    }
}

impl<T> fmt::Display for Word<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.text)
    }
}

impl<T> Serialize for Word<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text)
    }
}

impl<'de, T: Spelled> Deserialize<'de> for Word<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Word<T>, D::Error> {
        struct Text<T>(PhantomData<T>);

        impl<T: Spelled> Visitor<'_> for Text<T> {
            type Value = Word<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a word")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Word<T>, E> {
                let meaning = T::deserialize(StrDeserializer::<value::Error>::new(text)).ok();
                // An older spelling stays what it was: what is read can be written out again unchanged.
                let text = match meaning.map(T::spelling) {
                    Some(spelling) if spelling == text => Cow::Borrowed(spelling),
                    _ => Cow::Owned(text.to_owned()),
                };
                Ok(Word { text, meaning })
            }
        }

        deserializer.deserialize_str(Text(PhantomData))
    }
}

/// The fields of a record that this version does not know, in their order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UnknownFields(Vec<(String, Value)>);

impl UnknownFields {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Name and value of each.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value))
    }
}

impl Serialize for UnknownFields {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        in_order::serialize(&self.0, serializer)
    }
}

impl<'de> Deserialize<'de> for UnknownFields {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<UnknownFields, D::Error> {
        in_order::deserialize(deserializer).map(UnknownFields)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_written_again_as_it_was_read() {
        let read = |text: &str| serde_json::from_str::<Word<FindingKind>>(&format!("{text:?}")).unwrap();
        for (text, meaning) in [
            ("outside-scope", Some(FindingKind::Outside)),
            // As the first version spelled it.
            ("outside", Some(FindingKind::Outside)),
            ("other-agent-entered", Some(FindingKind::OtherAgentEntered)),
            ("from-another-planet", None),
            ("", None),
        ] {
            let word = read(text);
            assert_eq!((word.as_str(), word.known()), (text, meaning));
            assert_eq!(serde_json::to_string(&word).unwrap(), format!("{text:?}"));
        }
        assert!(serde_json::from_str::<Word<FindingKind>>("7").is_err());
    }

    #[test]
    fn each_word_that_is_written_is_read_as_the_same_value() {
        fn returns<T: Spelled + PartialEq + fmt::Debug>(values: &[T]) {
            for value in values {
                let text = serde_json::to_string(&Word::from(*value)).unwrap();
                let read: Word<T> = serde_json::from_str(&text).unwrap();
                assert_eq!((read.known(), &read), (Some(*value), &Word::from(*value)));
            }
        }
        returns(&[Decision::Allow, Decision::Contain, Decision::Ask, Decision::Deny]);
        returns(&[FindingKind::Outside, FindingKind::GitInternals, FindingKind::UndeclaredConnection]);
        returns(&[
            Answer::Silence,
            Answer::Grant,
            Answer::Rewrite,
            Answer::Ask,
            Answer::Deny,
            Answer::Redact,
            Answer::Tell,
        ]);
    }
}
