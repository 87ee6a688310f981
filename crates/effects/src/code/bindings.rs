//! The names that a program gives to values, functions and modules.
//!
//! Names are followed without regard to the order of what happens: a name can be whatever was ever assigned to it. So the
//! program is walked several times, until no walk adds anything.

use std::collections::{BTreeMap, BTreeSet};

use super::value::Value;
use Value::{Any, Nothing};

/// From this walk on, a name whose value still grows can be anything.
const MAX_PASSES_TO_GROW: usize = 2;

/// What is known of a program's names.
pub(super) struct Bindings {
    values: BTreeMap<String, Value>,
    /// Parameters of the program's own functions.
    functions: BTreeMap<String, Vec<String>>,
    parameters: BTreeSet<String>,
    /// The function whose body is walked.
    function: String,
    /// Modules all of whose names were imported.
    stars: Vec<String>,
    pass: usize,
    changed: bool,
    assignment: Assignment,
}

/// The name that is being assigned, and whether its own value was asked for.
#[derive(Default)]
pub(super) struct Assignment {
    name: Option<String>,
    asks_itself: bool,
}

impl Bindings {
    pub(super) fn new(values: BTreeMap<String, Value>) -> Bindings {
        Bindings {
            values,
            functions: BTreeMap::new(),
            parameters: BTreeSet::new(),
            function: String::new(),
            stars: Vec::new(),
            pass: 0,
            changed: false,
            assignment: Assignment::default(),
        }
    }

    /// Begins one of the walks that gather names.
    pub(super) fn begin_pass(&mut self, pass: usize) {
        (self.pass, self.changed) = (pass, false);
    }

    /// Whether this is the first walk: what has no value yet may get one further down.
    pub(super) fn is_first_pass(&self) -> bool {
        self.pass == 0
    }

    /// Whether the walk has added something.
    pub(super) fn have_changed(&self) -> bool {
        self.changed
    }

    /// All values by their names.
    pub(super) fn values(&self) -> &BTreeMap<String, Value> {
        &self.values
    }

    /// What a name stands for, as far as is known.
    pub(super) fn value(&self, name: &str) -> Option<&Value> {
        self.values.get(name)
    }

    /// A name can also stand for this value.
    pub(super) fn join(&mut self, name: &str, value: Value) {
        let is_late = self.pass > MAX_PASSES_TO_GROW;
        let old = self.values.get(name).cloned().unwrap_or(Nothing);
        let mut new = match &old {
            Any(foreign) if is_late => Any(*foreign || value.foreign()),
            _ => old.clone().or(value),
        };
        if new != old && is_late {
            new = Any(new.foreign());
        }
        if new != old {
            self.changed = true;
            self.values.insert(name.to_owned(), new);
        }
    }

    /// Notes that the value of a name is asked for.
    pub(super) fn ask_for(&mut self, name: &str) {
        self.assignment.asks_itself |= self.assignment.name.as_deref() == Some(name);
    }

    /// Begins an assignment. Gives the one that it stands in, for [`Bindings::end_assignment`].
    pub(super) fn begin_assignment(&mut self, name: Option<String>) -> Assignment {
        std::mem::replace(&mut self.assignment, Assignment { name, asks_itself: false })
    }

    /// Ends an assignment. Whether its right side asked for the value of its own name.
    pub(super) fn end_assignment(&mut self, outer: Assignment) -> bool {
        std::mem::replace(&mut self.assignment, outer).asks_itself
    }

    /// Names that are given a value where their function is called.
    pub(super) fn add_parameters(&mut self, names: &[String]) {
        self.parameters.extend(names.iter().cloned());
    }

    /// Whether a name is a parameter of some function.
    pub(super) fn is_parameter(&self, name: &str) -> bool {
        self.parameters.contains(name)
    }

    /// Notes one of the program's own functions.
    pub(super) fn define(&mut self, function: &str, parameters: Vec<String>) {
        self.add_parameters(&parameters);
        self.functions.insert(function.to_owned(), parameters);
    }

    /// The parameters of one of the program's own functions.
    pub(super) fn parameters_of(&self, function: &str) -> Option<&[String]> {
        self.functions.get(function).map(Vec::as_slice)
    }

    /// Whether the program has functions of its own.
    pub(super) fn have_functions(&self) -> bool {
        !self.parameters.is_empty() || !self.functions.is_empty()
    }

    /// Walks the body of this function from now on.
    pub(super) fn enter_function(&mut self, name: String) {
        self.function = name;
    }

    /// Walks what belongs to no function.
    pub(super) fn leave_function(&mut self) {
        self.function.clear();
    }

    /// The name under which the result of the current function is kept.
    pub(super) fn name_of_result(&self) -> String {
        name_of_result(&self.function)
    }

    /// What one of the program's own functions gives back, as far as is known.
    pub(super) fn result_of(&self, function: &str) -> Option<&Value> {
        self.values.get(&name_of_result(function))
    }

    /// All names of a module were imported.
    pub(super) fn import_all_of(&mut self, module: String) {
        self.stars.push(module);
    }

    /// Modules all of whose names were imported.
    pub(super) fn open_modules(&self) -> &[String] {
        &self.stars
    }
}

fn name_of_result(function: &str) -> String {
    format!("{function}()")
}
