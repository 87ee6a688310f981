//! JSON as an agent host sends it: borrowed where possible, bounded in depth, strict about repeated keys.
//!
//! Against whom: a tool input with the same key twice is read one way by us and perhaps another way by the
//! host (`{"file_path": "ok", "file_path": "/etc/passwd"}`), so it is an error here, not a choice.

use std::borrow::Cow;
use std::cell::Cell;
use std::collections::BTreeSet;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde::ser::{SerializeMap, SerializeSeq};
use serde::{Deserialize, Serialize, Serializer};

/// Deeper input than this is refused; real tool inputs nest three or four levels.
pub const MAX_DEPTH: usize = 64;

/// An object with more members than this is refused.
const MAX_MEMBERS: usize = 2048;

/// More values than this in one input are refused: each takes some 50 bytes, where its text may be two.
const MAX_VALUES: usize = 200_000;

/// Up to so many members a doubled one is looked for one by one.
const FEW: usize = 32;

/// A JSON value that borrows its strings from the text that it was read from.
#[derive(Debug, Clone, PartialEq)]
pub enum Json<'a> {
    /// `null`
    Null,
    /// `true` or `false`
    Bool(bool),
    /// A whole number
    Int(i64),
    /// A whole number too large for [`Json::Int`]
    Big(u64),
    /// Any other number
    Float(f64),
    /// A string
    Text(Cow<'a, str>),
    /// An array
    List(Vec<Json<'a>>),
    /// An object, its members in the order in which they were written
    Object(Vec<(Cow<'a, str>, Json<'a>)>),
}

impl<'a> Json<'a> {
    /// Whether a text in it contains this one.
    pub fn mentions(&self, wanted: &str) -> bool {
        match self {
            Json::Text(text) => text.contains(wanted),
            Json::List(all) => all.iter().any(|one| one.mentions(wanted)),
            Json::Object(members) => members.iter().any(|(_, one)| one.mentions(wanted)),
            Json::Null | Json::Bool(_) | Json::Int(_) | Json::Big(_) | Json::Float(_) => false,
        }
    }

    /// The member of an object; `None` where this is not an object or has no such member.
    pub fn get(&self, key: &str) -> Option<&Json<'a>> {
        match self {
            Json::Object(members) => members.iter().find(|(name, _)| name == key).map(|(_, value)| value),
            _ => None,
        }
    }

    /// The text of a string.
    pub fn text(&self) -> Option<&str> {
        match self {
            Json::Text(text) => Some(text),
            _ => None,
        }
    }

    /// What kind of value this is, for a message.
    pub fn kind(&self) -> &'static str {
        match self {
            Json::Null => "null",
            Json::Bool(_) => "a boolean",
            Json::Int(_) | Json::Big(_) | Json::Float(_) => "a number",
            Json::Text(_) => "a string",
            Json::List(_) => "a list",
            Json::Object(_) => "an object",
        }
    }

    /// The same value, borrowing from nothing.
    #[must_use]
    pub fn into_owned(self) -> Json<'static> {
        let text = |text: Cow<'a, str>| Cow::Owned(text.into_owned());
        match self {
            Json::Null => Json::Null,
            Json::Bool(value) => Json::Bool(value),
            Json::Int(value) => Json::Int(value),
            Json::Big(value) => Json::Big(value),
            Json::Float(value) => Json::Float(value),
            Json::Text(value) => Json::Text(text(value)),
            Json::List(values) => Json::List(values.into_iter().map(Json::into_owned).collect()),
            Json::Object(members) => Json::Object(
                members.into_iter().map(|(name, value)| (text(name), value.into_owned())).collect(),
            ),
        }
    }

    /// A copy of this object with one member's text replaced, or the member added where it has none. Everything else stays as it was.
    #[must_use]
    pub fn with_text(&self, key: &str, text: String) -> Json<'a> {
        match self {
            Json::Object(members) => {
                let mut text = Some(text);
                let replaced = members.iter().map(|(name, value)| {
                    let value = match text.take_if(|_| name == key) {
                        Some(text) => Json::Text(Cow::Owned(text)),
                        None => value.clone(),
                    };
                    (name.clone(), value)
                });
                let mut changed: Vec<_> = replaced.collect();
                changed.extend(text.map(|text| (Cow::Owned(key.to_owned()), Json::Text(Cow::Owned(text)))));
                Json::Object(changed)
            }
            other => other.clone(),
        }
    }
}

impl Serialize for Json<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Json::Null => serializer.serialize_unit(),
            Json::Bool(value) => serializer.serialize_bool(*value),
            Json::Int(value) => serializer.serialize_i64(*value),
            Json::Big(value) => serializer.serialize_u64(*value),
            Json::Float(value) => serializer.serialize_f64(*value),
            Json::Text(value) => serializer.serialize_str(value),
            Json::List(values) => {
                let mut list = serializer.serialize_seq(Some(values.len()))?;
                for value in values {
                    list.serialize_element(value)?;
                }
                list.end()
            }
            Json::Object(members) => {
                let mut object = serializer.serialize_map(Some(members.len()))?;
                for (name, value) in members {
                    object.serialize_entry(name, value)?;
                }
                object.end()
            }
        }
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Json<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Level { left: MAX_DEPTH, room: &Cell::new(MAX_VALUES) }.deserialize(deserializer)
    }
}

/// Reads one value and knows how many levels may still follow below it, and how many values there may be at all.
struct Level<'r> {
    left: usize,
    room: &'r Cell<usize>,
}

impl<'r> Level<'r> {
    fn below<E: Error>(&self) -> Result<Level<'r>, E> {
        let Some(left) = self.left.checked_sub(1) else {
            return Err(E::custom(format_args!("nested deeper than {MAX_DEPTH} levels")));
        };
        let Some(room) = self.room.get().checked_sub(1) else {
            return Err(E::custom(format_args!("more than {MAX_VALUES} values")));
        };
        self.room.set(room);
        Ok(Level { left, room: self.room })
    }
}

impl<'de> DeserializeSeed<'de> for Level<'_> {
    type Value = Json<'de>;
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Json<'de>, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Level<'_> {
    type Value = Json<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }
    fn visit_unit<E>(self) -> Result<Json<'de>, E> {
        Ok(Json::Null)
    }
    fn visit_bool<E>(self, value: bool) -> Result<Json<'de>, E> {
        Ok(Json::Bool(value))
    }
    fn visit_i64<E>(self, value: i64) -> Result<Json<'de>, E> {
        Ok(Json::Int(value))
    }
    fn visit_u64<E>(self, value: u64) -> Result<Json<'de>, E> {
        Ok(i64::try_from(value).map_or(Json::Big(value), Json::Int))
    }
    fn visit_f64<E>(self, value: f64) -> Result<Json<'de>, E> {
        Ok(Json::Float(value))
    }
    fn visit_borrowed_str<E>(self, value: &'de str) -> Result<Json<'de>, E> {
        Ok(Json::Text(Cow::Borrowed(value)))
    }
    fn visit_str<E>(self, value: &str) -> Result<Json<'de>, E> {
        Ok(Json::Text(Cow::Owned(value.to_owned())))
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Json<'de>, A::Error> {
        let mut values = Vec::new();
        while let Some(value) = list.next_element_seed(self.below()?)? {
            values.push(value);
        }
        Ok(Json::List(values))
    }
    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<Json<'de>, A::Error> {
        let mut members: Vec<(Cow<'de, str>, Json<'de>)> = Vec::new();
        let mut names = BTreeSet::new();
        while let Some(name) = object.next_key_seed(Name)? {
            if members.len() >= MAX_MEMBERS {
                return Err(A::Error::custom(format_args!("more than {MAX_MEMBERS} members in one object")));
            }
            if members.len() == FEW {
                names.extend(members.iter().map(|(known, _)| known.clone()));
            }
            let doubled = if members.len() < FEW {
                members.iter().any(|(known, _)| *known == name)
            } else {
                !names.insert(name.clone())
            };
            if doubled {
                return Err(A::Error::custom("the same key stands twice in one object"));
            }
            let value = object.next_value_seed(self.below()?)?;
            members.push((name, value));
        }
        Ok(Json::Object(members))
    }
}

/// A member's name. A visitor of its own, since serde's own `Cow` never borrows.
struct Name;

impl<'de> DeserializeSeed<'de> for Name {
    type Value = Cow<'de, str>;
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<'de> Visitor<'de> for Name {
    type Value = Cow<'de, str>;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }
    fn visit_borrowed_str<E>(self, value: &'de str) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(value))
    }
    fn visit_str<E>(self, value: &str) -> Result<Self::Value, E> {
        Ok(Cow::Owned(value.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Json<'_>, serde_json::Error> {
        serde_json::from_str(text)
    }

    #[test]
    fn strings_without_escapes_are_borrowed() {
        let value = read(r#"{"a":"plain","b":"esc\n"}"#).unwrap();
        assert!(matches!(value.get("a"), Some(Json::Text(Cow::Borrowed("plain")))));
        assert!(matches!(value.get("b"), Some(Json::Text(Cow::Owned(_)))));
    }

    #[test]
    fn a_doubled_key_is_refused_at_any_level() {
        assert!(read(r#"{"a":1,"a":2}"#).is_err());
        assert!(read(r#"{"x":[{"a":1,"a":2}]}"#).is_err());
        assert!(read(r#"{"a":1,"\u0061":2}"#).is_err(), "escapes do not make another key");
        let many = |last: &str| {
            let members: Vec<String> = (0..100).map(|n| format!("\"m{n}\":1")).collect();
            format!("{{{},\"{last}\":2}}", members.join(","))
        };
        assert!(read(&many("m3")).is_err() && read(&many("m99")).is_err());
        assert!(read(&many("m100")).is_ok());
    }

    #[test]
    fn json_that_is_nested_too_deep_is_refused() {
        let nested = |n: usize| format!("{}1{}", "[".repeat(n), "]".repeat(n));
        assert!(read(&nested(MAX_DEPTH)).is_ok());
        assert!(read(&nested(MAX_DEPTH + 1)).is_err());
    }

    #[test]
    fn json_with_too_many_values_is_refused_wherever_they_stand() {
        let list = |count: usize| format!("[{}0]", "0,".repeat(count - 1));
        // Whoever asks for the next value has room for it.
        assert!(read(&list(MAX_VALUES - 1)).is_ok());
        assert!(read(&list(MAX_VALUES + 1)).is_err());
        assert!(read(&format!("[{},{}]", list(MAX_VALUES / 2), list(MAX_VALUES / 2))).is_err());
    }

    #[test]
    fn json_is_written_again_as_it_was_read() {
        let text = r#"{"a":[1,-2,18446744073709551615,1.5,null,true,"x\"y"],"b":{}}"#;
        assert_eq!(serde_json::to_string(&read(text).unwrap()).unwrap(), text);
    }

    #[test]
    fn one_member_is_replaced_and_the_order_is_kept() {
        let value = read(r#"{"z":1,"path":"a","y":2}"#).unwrap().with_text("path", "/r/a".into());
        assert_eq!(serde_json::to_string(&value).unwrap(), r#"{"z":1,"path":"/r/a","y":2}"#);
        let value = read(r#"{"z":1}"#).unwrap().with_text("path", "/r".into());
        assert_eq!(serde_json::to_string(&value).unwrap(), r#"{"z":1,"path":"/r"}"#);
    }
}
