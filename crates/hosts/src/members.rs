//! An object of an event, its members taken out one by one.

use std::borrow::Cow;

use toolgate_model::{DecodeError, Json};

use crate::wire::malformed;

/// The members of an object. What is taken is gone; what nobody takes is passed over.
#[derive(Default)]
pub(crate) struct Members<'a>(Vec<(Cow<'a, str>, Json<'a>)>);

impl<'a> Members<'a> {
    /// The object that a whole event is.
    pub(crate) fn read(stdin: &'a [u8]) -> Result<Members<'a>, DecodeError> {
        match serde_json::from_slice(stdin).map_err(malformed)? {
            Json::Object(members) => Ok(Members(members)),
            _ => Err(DecodeError::WrongField("the event")),
        }
    }

    /// The member of this name.
    pub(crate) fn take(&mut self, name: &str) -> Option<Json<'a>> {
        let at = self.0.iter().position(|(member, _)| member == name)?;
        Some(self.0.remove(at).1)
    }

    /// The text of a member; `None` where it has none.
    pub(crate) fn text(&mut self, name: &str) -> Option<Cow<'a, str>> {
        match self.take(name)? {
            Json::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The first of these that is a text.
    pub(crate) fn first_text(&mut self, names: &[&str]) -> Option<Cow<'a, str>> {
        names.iter().find_map(|name| self.text(name))
    }

    /// The members of a member that is an object; none where it is not.
    pub(crate) fn object(&mut self, name: &str) -> Members<'a> {
        match self.take(name) {
            Some(Json::Object(members)) => Members(members),
            _ => Members::default(),
        }
    }

    /// All that is left, in the order in which it was written.
    pub(crate) fn rest(self) -> Json<'a> {
        Json::Object(self.0)
    }
}
