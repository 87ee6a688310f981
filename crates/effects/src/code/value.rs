//! What is known of a value in a program that is only looked at.

/// Longer texts are no paths.
const MAX_TEXT: usize = 8192;
const MAX_TEXTS: usize = 32;
const MAX_ITEMS: usize = 64;

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Value {
    /// Not assigned yet.
    Nothing,
    /// One of these texts, or a path made of them.
    Texts(Vec<String>),
    /// Begins so. What follows comes from outside of the program if the flag is set.
    Part(String, bool),
    Number(Option<u32>),
    List(Vec<Value>),
    Map(Vec<(Value, Value)>),
    /// A module, a function or a class by its full name: `os.path.join`.
    Thing(String),
    /// A function without a name, by its parameters.
    Closure(Vec<String>),
    /// A place that the language's own library makes for what is temporary.
    Scratch,
    /// Anything. Text from outside of the program if the flag is set.
    Any(bool),
}

use Value::{Any, Closure, List, Map, Nothing, Number, Part, Scratch, Texts, Thing};

impl Value {
    pub(super) fn text(text: &str) -> Value {
        Texts(vec![text.to_owned()])
    }

    /// The value without what lies too deep in it to matter.
    pub(super) fn pruned(self, depth: usize) -> Value {
        match self {
            List(_) | Map(_) if depth == 0 => Any(self.foreign()),
            List(items) => List(items.into_iter().map(|item| item.pruned(depth - 1)).collect()),
            Map(pairs) => {
                let prune = |(key, value): (Value, Value)| (key.pruned(0), value.pruned(depth - 1));
                Map(pairs.into_iter().map(prune).collect())
            }
            other => other,
        }
    }

    /// Whether it may hold text from outside of the program.
    pub(super) fn foreign(&self) -> bool {
        match self {
            Part(_, foreign) | Any(foreign) => *foreign,
            List(items) => items.iter().any(Value::foreign),
            Map(pairs) => pairs.iter().any(|(_, value)| value.foreign()),
            Nothing | Texts(_) | Number(_) | Thing(_) | Closure(_) | Scratch => false,
        }
    }

    /// The only text that it can be.
    pub(super) fn only(&self) -> Option<&str> {
        match self {
            Texts(texts) => texts.first().filter(|_| texts.len() == 1).map(String::as_str),
            _ => None,
        }
    }

    /// The number that it is.
    pub(super) fn number(&self) -> Option<u32> {
        match self {
            Number(number) => *number,
            _ => None,
        }
    }

    /// The one or the other.
    pub(super) fn or(self, other: Value) -> Value {
        match (self, other) {
            (Nothing, value) | (value, Nothing) => value,
            (one, other) if one == other => one,
            (Texts(mut texts), Texts(more)) => {
                texts.extend(more);
                texts.sort_unstable();
                texts.dedup();
                if texts.len() > MAX_TEXTS { Any(false) } else { Texts(texts) }
            }
            (List(mut items), List(more)) => {
                let new: Vec<Value> = more.into_iter().filter(|item| !items.contains(item)).collect();
                items.extend(new);
                bounded(items)
            }
            (Map(mut pairs), Map(more)) => {
                let new: Vec<(Value, Value)> =
                    more.into_iter().filter(|pair| !pairs.contains(pair)).collect();
                pairs.extend(new);
                if pairs.len() > MAX_ITEMS {
                    Any(pairs.iter().any(|(_, value)| value.foreign()))
                } else {
                    Map(pairs)
                }
            }
            (List(mut items), other) | (other, List(mut items)) => {
                if !items.contains(&other) {
                    items.push(other);
                }
                bounded(items)
            }
            // A call of either is a call of both.
            (Thing(one), Thing(other)) => List(vec![Thing(one), Thing(other)]),
            (Thing(one), Any(false) | Number(_)) | (Any(false) | Number(_), Thing(one)) => Thing(one),
            // `None`, `0` and the like say nothing about a path.
            (Number(_), value) | (value, Number(_)) => value,
            (one, other) => Any(one.foreign() || other.foreign()),
        }
    }

    /// What an item of it can be.
    pub(super) fn item(&self) -> Value {
        match self {
            List(items) => items.iter().cloned().fold(Nothing, Value::or),
            Map(pairs) => pairs.iter().map(|(key, _)| key.clone()).fold(Nothing, Value::or),
            Part(start, foreign) => Part(start.clone(), *foreign),
            Scratch => Scratch,
            Nothing => Nothing,
            Texts(_) | Number(_) | Thing(_) | Closure(_) => Any(false),
            Any(foreign) => Any(*foreign),
        }
    }

    /// What stands under a key.
    pub(super) fn under(&self, key: &Value) -> Value {
        match self {
            Map(pairs) => {
                let exact = pairs.iter().filter(|(own, _)| own == key && key.only().is_some());
                let exact = exact.map(|(_, value)| value.clone()).fold(Nothing, Value::or);
                match exact {
                    Nothing => pairs.iter().map(|(_, value)| value.clone()).fold(Nothing, Value::or),
                    found => found,
                }
            }
            _ => self.item(),
        }
    }

    /// Both, one behind the other.
    pub(super) fn then(self, next: &Value) -> Value {
        match (self, next) {
            (Nothing, _) | (_, Nothing) => Nothing,
            (Texts(starts), Texts(ends)) => {
                if starts.len() * ends.len() > MAX_TEXTS {
                    return starts.first().map_or(Any(false), |start| Part(shared(start, &starts), false));
                }
                let mut texts = Vec::new();
                for start in &starts {
                    for end in ends {
                        if start.len() + end.len() > MAX_TEXT {
                            return Part(start.chars().take(256).collect(), false);
                        }
                        texts.push(format!("{start}{end}"));
                    }
                }
                Texts(texts)
            }
            (Texts(starts), Number(Some(number))) => {
                Texts(starts.into_iter().map(|start| format!("{start}{number}")).collect())
            }
            (Texts(starts), next) => {
                let start = starts.first().map(|first| shared(first, &starts)).unwrap_or_default();
                Part(start, next.foreign())
            }
            (Part(start, foreign), next) => Part(start, foreign || next.foreign()),
            (Scratch, _) => Scratch,
            (List(items), List(more)) => List(items).or(List(more.clone())),
            (Number(None), Number(_)) | (Number(_), Number(None)) => Number(None),
            (Number(Some(one)), Number(Some(other))) => Number(one.checked_add(*other)),
            (Number(Some(number)), next) => Value::text(&number.to_string()).then(next),
            (one, next) => Any(one.foreign() || next.foreign()),
        }
    }

    /// The second below the first, unless it is absolute.
    pub(super) fn below(self, next: &Value) -> Value {
        match (self, next) {
            (one, Texts(names)) if names.iter().any(|name| name.starts_with(['/', '~'])) => {
                let (away, inside) =
                    names.iter().cloned().partition(|name: &String| name.starts_with(['/', '~']));
                let (away, inside): (Vec<String>, Vec<String>) = (away, inside);
                let rest = if inside.is_empty() { Nothing } else { one.below(&Texts(inside)) };
                Texts(away).or(rest)
            }
            (Texts(starts), next) => {
                let starts = starts.into_iter().map(|start| match start.as_str() {
                    "" => start,
                    _ if start.ends_with('/') => start,
                    _ => format!("{start}/"),
                });
                Texts(starts.collect()).then(next)
            }
            (Scratch, Texts(names)) if names.iter().any(|name| super::climbs(name)) => Any(true),
            (one, next) => one.then(next),
        }
    }

    /// Its items, or itself.
    pub(super) fn items(&self) -> Vec<&Value> {
        match self {
            List(items) => items.iter().collect(),
            one => vec![one],
        }
    }
}

fn bounded(items: Vec<Value>) -> Value {
    if items.len() > MAX_ITEMS { Any(items.iter().any(Value::foreign)) } else { List(items) }
}

/// What all of them begin with.
fn shared(first: &str, texts: &[String]) -> String {
    let same = |start: &str| texts.iter().all(|text| text.starts_with(start));
    if same(first) {
        return first.to_owned();
    }
    let ends = first.char_indices().map(|(at, _)| first.get(..at).unwrap_or_default());
    ends.take_while(|start| same(start)).last().unwrap_or_default().to_owned()
}
