//! The syntax tree of a script, as bash would read it.
//!
//! Everything that bash could run stands somewhere in it: a substitution inside of arithmetic inside of a
//! subscript is a [`Part`] like any other. Texts are borrowed from the source where they can be.

use std::borrow::Cow;

/// Where something stands in the source, in bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Span {
    /// Its first byte.
    pub start: u32,
    /// The byte after its last.
    pub end: u32,
}

/// Commands in order.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct List<'s> {
    /// Each ends at `;`, `&` or a newline.
    pub items: Vec<Item<'s>>,
}

/// `a && b || c`
#[derive(Debug, Clone, PartialEq)]
pub struct Item<'s> {
    /// The first pipeline.
    pub first: Pipeline<'s>,
    /// The others, each with what stands before it.
    pub rest: Vec<(Connector, Pipeline<'s>)>,
    /// Ends in `&`.
    pub background: bool,
}

/// What joins two pipelines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Connector {
    /// `&&`
    And,
    /// `||`
    Or,
}

/// `! time a | b |& c`
#[derive(Debug, Clone, PartialEq)]
pub struct Pipeline<'s> {
    /// An odd number of `!`.
    pub negated: bool,
    /// Begins with `time`.
    pub timed: bool,
    /// At least one, except after a bare `time` or `!`.
    pub commands: Vec<Command<'s>>,
}

/// One command with its redirections.
#[derive(Debug, Clone, PartialEq)]
pub struct Command<'s> {
    /// From its first to its last character, redirections included, bodies of here-documents not.
    pub span: Span,
    /// What it is.
    pub kind: CommandKind<'s>,
    /// In the order in which they stand.
    pub redirects: Vec<Redirect<'s>>,
}

/// The kinds of commands.
#[derive(Debug, Clone, PartialEq)]
pub enum CommandKind<'s> {
    /// `A=1 B=2 name word word`; may have no words, or nothing but redirections.
    Simple {
        /// What stands before the name.
        assignments: Vec<Assignment<'s>>,
        /// The name and its arguments.
        words: Vec<Word<'s>>,
    },
    /// `{ …; }`
    Group(List<'s>),
    /// `( … )`
    Subshell(List<'s>),
    /// `if a; then b; elif c; then d; else e; fi`
    If {
        /// Conditions and what they lead to.
        branches: Vec<(List<'s>, List<'s>)>,
        /// `else`
        otherwise: Option<List<'s>>,
    },
    /// `while a; do b; done`
    While {
        /// `until`
        until: bool,
        /// What is asked.
        condition: List<'s>,
        /// What is repeated.
        body: List<'s>,
    },
    /// `for x in a b; do c; done`, and `select`
    For {
        /// The variable.
        name: &'s str,
        /// What it runs over; `None` is `"$@"`.
        words: Option<Vec<Word<'s>>>,
        /// What is repeated.
        body: List<'s>,
        /// `select`: the value comes from standard input.
        select: bool,
    },
    /// `for ((a; b; c)); do d; done`
    ForArithmetic {
        /// The three expressions; what is left out is empty.
        clauses: [Arithmetic<'s>; 3],
        /// What is repeated.
        body: List<'s>,
    },
    /// `case a in b|c) d;; esac`
    Case {
        /// What is matched.
        subject: Word<'s>,
        /// In order.
        arms: Vec<Arm<'s>>,
    },
    /// `name() body`, `function name body`
    Function {
        /// Its name as written.
        name: Cow<'s, str>,
        /// Any compound command, with the redirections that every call of it gets.
        body: Box<Command<'s>>,
    },
    /// `[[ … ]]`: operands and operators, each a word of its own, parentheses too. The right side of `==`, `!=`
    /// and `=~` is a pattern.
    Test(Vec<Word<'s>>),
    /// `(( … ))`
    Arithmetic(Arithmetic<'s>),
    /// `coproc NAME body`
    Coproc {
        /// `None` is `COPROC`.
        name: Option<&'s str>,
        /// What runs beside.
        body: Box<Command<'s>>,
    },
}

/// One arm of a `case`.
#[derive(Debug, Clone, PartialEq)]
pub struct Arm<'s> {
    /// Any of these.
    pub patterns: Vec<Word<'s>>,
    /// What is done.
    pub body: List<'s>,
    /// How it ends.
    pub end: ArmEnd,
}

/// How an arm ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArmEnd {
    /// `;;`, or `esac` itself.
    Break,
    /// `;&`: the next body runs too.
    FallThrough,
    /// `;;&`: the next patterns are tried too.
    TryNext,
}

/// `name=value`, `name[index]+=value`, `name=(…)`
#[derive(Debug, Clone, PartialEq)]
pub struct Assignment<'s> {
    /// All of it.
    pub span: Span,
    /// The variable.
    pub name: &'s str,
    /// The subscript, which bash evaluates.
    pub index: Option<Arithmetic<'s>>,
    /// `+=`
    pub append: bool,
    /// What is assigned.
    pub value: Value<'s>,
}

/// What is assigned.
#[derive(Debug, Clone, PartialEq)]
pub enum Value<'s> {
    /// One word, possibly empty.
    Word(Word<'s>),
    /// `(a b [i]=c)`
    Array(Vec<Element<'s>>),
}

/// An element of an array.
#[derive(Debug, Clone, PartialEq)]
pub struct Element<'s> {
    /// The subscript, which bash evaluates.
    pub index: Option<Arithmetic<'s>>,
    /// Its value.
    pub value: Word<'s>,
}

/// A word before expansion.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Word<'s> {
    /// Quotes included.
    pub span: Span,
    /// In order; none for an empty word such as the value in `a=`. `''` is one empty `Quoted` part.
    pub parts: Vec<Part<'s>>,
}

/// A piece of a word.
#[derive(Debug, Clone, PartialEq)]
pub enum Part<'s> {
    /// Bare text, in which `~ * ? [ ] { , } ..` still mean something.
    Bare(Cow<'s, str>),
    /// Text that means itself: `'…'`, `$'…'` decoded, `\x`.
    Quoted(Cow<'s, str>),
    /// `"…"` or `$"…"`; its plain text is `Quoted`.
    Double(Vec<Part<'s>>),
    /// `$x`, `${x…}`
    Parameter(Box<Parameter<'s>>),
    /// `$( … )`, and `${ …; }`
    Substitution(List<'s>),
    /// `` `…` ``, its own layer of backslashes taken off, not yet parsed.
    Backtick(String),
    /// `$(( … ))`, `$[ … ]`
    Arithmetic(Arithmetic<'s>),
    /// `<( … )`, `>( … )`
    Process {
        /// `>( … )`: what is written to it is what it reads.
        writes: bool,
        /// What runs.
        list: List<'s>,
    },
    /// `@(a|b)` and its kin `? * + !`, also where `extglob` may be off.
    ExtendedGlob {
        /// The character before the parenthesis.
        operator: u8,
        /// What stands between the bars.
        patterns: Vec<Word<'s>>,
    },
    /// `x=(…)` as an argument of `declare`, `local`, `export`, `readonly`, `typeset`; follows the part that ends in `=`.
    Array(Vec<Element<'s>>),
}

/// An arithmetic expression: its text, in which names are variables, and what bash expands in it first.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Arithmetic<'s> {
    /// Where it stands.
    pub span: Span,
    /// Text and expansions in order.
    pub parts: Vec<Part<'s>>,
}

/// `${…}`
#[derive(Debug, Clone, PartialEq)]
pub struct Parameter<'s> {
    /// From `$` to its end.
    pub span: Span,
    /// A variable's name, digits, or one of `@ * # ? - $ !`.
    pub name: &'s str,
    /// `[…]`
    pub index: Option<Index<'s>>,
    /// What is done with it.
    pub operation: Operation<'s>,
}

/// A subscript.
#[derive(Debug, Clone, PartialEq)]
pub enum Index<'s> {
    /// `[@]`
    Each,
    /// `[*]`
    Joined,
    /// Anything else, which bash evaluates.
    At(Arithmetic<'s>),
}

/// What is done with a parameter.
#[derive(Debug, Clone, PartialEq)]
pub enum Operation<'s> {
    /// `$x`
    None,
    /// `${#x}`
    Length,
    /// `${!x}`, with the operation that follows on what it leads to.
    Indirect(Box<Operation<'s>>),
    /// `${!x@}`, `${!x*}`: the names that begin so.
    Names,
    /// `${!x[@]}`: the subscripts.
    Keys,
    /// `${x:-w}` and its kin.
    Default {
        /// One of `- = ? +`.
        operator: u8,
        /// With `:`: empty counts as unset.
        or_empty: bool,
        /// What is taken instead.
        word: Word<'s>,
    },
    /// `${x#w}`, `${x%%w}`
    Strip {
        /// `%`: from the end.
        suffix: bool,
        /// Doubled: as much as fits.
        longest: bool,
        /// What is stripped.
        pattern: Word<'s>,
    },
    /// `${x/a/b}` and its kin.
    Replace {
        /// `//`
        all: bool,
        /// `/#` or `/%`.
        anchor: Option<u8>,
        /// What is replaced.
        pattern: Word<'s>,
        /// By what.
        with: Word<'s>,
    },
    /// `${x^w}`, `${x,,}`, `${x~}`
    Case {
        /// One of `^ , ~`.
        operator: u8,
        /// Doubled.
        all: bool,
        /// Which characters; empty: all.
        pattern: Word<'s>,
    },
    /// `${x:a:b}`
    Slice {
        /// From here.
        offset: Arithmetic<'s>,
        /// So many.
        length: Option<Arithmetic<'s>>,
    },
    /// `${x@Q}`
    Transform(u8),
}

/// A redirection.
#[derive(Debug, Clone, PartialEq)]
pub struct Redirect<'s> {
    /// From the descriptor to the end of the target's word.
    pub span: Span,
    /// Which descriptor, where one is named.
    pub descriptor: Option<Descriptor<'s>>,
    /// What is done.
    pub operator: RedirectOperator,
    /// With what.
    pub target: RedirectTarget<'s>,
}

/// A descriptor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Descriptor<'s> {
    /// `2>`
    Number(u32),
    /// `{fd}>`
    Variable(&'s str),
}

/// What a redirection does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RedirectOperator {
    /// `<`
    Read,
    /// `>`
    Write,
    /// `>|`
    Clobber,
    /// `>>`
    Append,
    /// `<>`
    ReadWrite,
    /// `<&`
    DuplicateInput,
    /// `>&`: a descriptor, or a file for both outputs.
    DuplicateOutput,
    /// `&>`
    WriteBoth,
    /// `&>>`
    AppendBoth,
    /// `<<`, `<<-`
    HereDocument,
    /// `<<<`
    HereString,
}

/// What a redirection is aimed at.
#[derive(Debug, Clone, PartialEq)]
pub enum RedirectTarget<'s> {
    /// A word.
    Word(Word<'s>),
    /// The body of a here-document: plain text is `Quoted`; one such part only where the delimiter was quoted.
    Body(Word<'s>),
}
