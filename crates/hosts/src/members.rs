//! An object of an event, its members taken out one by one.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, Error, MapAccess, Visitor};
use serde_json::value::RawValue;
use toolgate_model::{DecodeError, Json, Phase};

use crate::wire::unreadable;

/// An object with more members than this is refused; looking for doubled ones would take too long.
const MAX_MEMBERS: usize = 2048;

/// The members of an object, each as it was written until somebody takes it. What is taken is gone; what nobody takes
/// is passed over, and so is what is wrong with it: a tool may give back what no input could be.
#[derive(Default)]
pub(crate) struct Members<'a>(Vec<(Cow<'a, str>, &'a RawValue)>);

impl<'a> Members<'a> {
    /// The object that a whole event is.
    pub(crate) fn read(stdin: &'a [u8]) -> Result<Members<'a>, DecodeError> {
        serde_json::from_slice(stdin).map_err(|error| unreadable(stdin, &error))
    }

    /// The members of a value that is an object; none where it is not.
    pub(crate) fn of(value: &'a RawValue) -> Result<Members<'a>, DecodeError> {
        if !value.get().starts_with('{') {
            return Ok(Members::default());
        }
        let text = value.get();
        serde_json::from_str(text).map_err(|error| unreadable(text.as_bytes(), &error))
    }

    /// The member of this name as it was written.
    pub(crate) fn raw(&mut self, name: &str) -> Option<&'a RawValue> {
        let at = self.0.iter().position(|(member, _)| member == name)?;
        Some(self.0.remove(at).1)
    }

    /// What a tool gave back, as it was written: of an event that comes after its call.
    pub(crate) fn output(&mut self, name: &str, phase: Phase) -> Option<Cow<'a, str>> {
        let output = if phase == Phase::After { self.raw(name)? } else { return None };
        Some(Cow::Borrowed(output.get()))
    }

    /// What the user said, of an event that begins a turn.
    pub(crate) fn said(
        &mut self,
        name: &'static str,
        phase: Phase,
    ) -> Result<Option<Cow<'a, str>>, DecodeError> {
        if phase == Phase::Prompt { self.text(name) } else { Ok(None) }
    }

    /// The member of this name.
    pub(crate) fn take(&mut self, name: &'static str) -> Result<Option<Json<'a>>, DecodeError> {
        let read = |value: &'a RawValue| serde_json::from_str(value.get());
        self.raw(name).map(read).transpose().map_err(|_| DecodeError::WrongField(name))
    }

    /// The first of these that is there.
    pub(crate) fn first(&mut self, names: &[&'static str]) -> Result<Option<Json<'a>>, DecodeError> {
        names.iter().find_map(|name| self.take(name).transpose()).transpose()
    }

    /// The text of a member; `None` where it has none.
    pub(crate) fn text(&mut self, name: &'static str) -> Result<Option<Cow<'a, str>>, DecodeError> {
        match self.take(name)? {
            Some(Json::Text(text)) => Ok(Some(text)),
            _ => Ok(None),
        }
    }

    /// The first of these that is a text.
    pub(crate) fn first_text(&mut self, names: &[&'static str]) -> Result<Option<Cow<'a, str>>, DecodeError> {
        names.iter().find_map(|name| self.text(name).transpose()).transpose()
    }

    /// The members of a member that is an object; none where it is not.
    pub(crate) fn object(&mut self, name: &'static str) -> Result<Members<'a>, DecodeError> {
        self.raw(name).map_or(Ok(Members::default()), Members::of).map_err(|_| DecodeError::WrongField(name))
    }

    /// All that is left, in the order in which it was written.
    pub(crate) fn rest(self) -> Result<Json<'a>, DecodeError> {
        let read = |(name, value): (Cow<'a, str>, &'a RawValue)| {
            let text = value.get();
            let read = serde_json::from_str(text).map(|value| (name, value));
            read.map_err(|error| unreadable(text.as_bytes(), &error))
        };
        self.0.into_iter().map(read).collect::<Result<_, _>>().map(Json::Object)
    }

    /// All that is left, as it was written.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &'a RawValue)> {
        self.0.iter().map(|(name, value)| (&**name, *value))
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Members<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Members<'a>, D::Error> {
        #[derive(Deserialize)]
        struct Name<'a>(#[serde(borrow)] Cow<'a, str>);

        struct InOrder;

        impl<'de> Visitor<'de> for InOrder {
            type Value = Members<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members<'de>, A::Error> {
                let mut members: Vec<(Cow<'de, str>, &'de RawValue)> = Vec::new();
                while let Some(Name(name)) = map.next_key()? {
                    if members.iter().any(|(member, _)| *member == name) {
                        return Err(A::Error::custom("a member is there twice"));
                    }
                    if members.len() == MAX_MEMBERS {
                        return Err(A::Error::custom("too many members"));
                    }
                    members.push((name, map.next_value()?));
                }
                Ok(Members(members))
            }
        }

        deserializer.deserialize_map(InOrder)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_members_that_are_taken_must_be_readable() {
        let deep = format!("{}{}", "[".repeat(5000), "]".repeat(5000));
        let event = format!(r#"{{"deep":{deep},"twice":{{"a":1,"a":2}},"half":"\ud800","fine":"x"}}"#);
        let read = || Members::read(event.as_bytes()).unwrap();
        assert_eq!(read().raw("deep").unwrap().get(), deep);
        assert_eq!(read().raw("half").unwrap().get(), r#""\ud800""#);
        for name in ["deep", "twice", "half"] {
            assert_eq!(read().take(name), Err(DecodeError::WrongField(name)));
        }
        assert_eq!(read().text("fine").unwrap().as_deref(), Some("x"));
        assert!(read().object("twice").is_err());
        assert!(read().rest().is_err());
    }

    #[test]
    fn a_doubled_member_is_refused() {
        assert!(Members::read(br#"{"tool":"a","t\u006fol":"b"}"#).is_err());
        assert!(Members::read(br#"{"tool":"a"} {}"#).is_err());
        assert!(Members::read(b"[]").is_err());
    }
}
