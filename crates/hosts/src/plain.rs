//! The plain answer: for hosts whose own code keeps a `toolgate serve`, and for everyone without a page here.

use toolgate_model::{
    Answer, Call, Decision, Finding, FindingKind, Json, Phase, RedactedOutput, Reply, Terms, Unstoppable,
    Verdict,
};

use crate::reply::{
    OwnJson, answer_object, joined, no_objection, print, redacted_whole, rewritten, tell_or_silence,
};

answer_object! {
    /// One verdict in words that any program can act on. docs/protocol.md is its manual.
    struct Body<'a> {
        decision: &'a str,
        /// The gate vouches: the host need not ask either.
        granted: bool,
        /// The call runs in a sandbox: the input leads there.
        contained: bool,
        /// For the model, word for word.
        reason: &'a str,
        /// What a question is answered with in the user's stead.
        answer: &'a str,
        /// The whole input to run with instead.
        input: Json<'a>,
        /// What the model is to see instead of the tool's output.
        output: OwnJson<'a>,
        /// For the model, beside that output.
        note: String,
        /// The user's answer as it is passed on to the model.
        text: &'a str,
        /// For the model besides.
        context: &'a str,
        /// What a session came to, at its end.
        summary: &'a str,
        /// What the host is to do about an error of its own.
        handling: &'static str,
        /// For the person, and not for the model.
        notice: String,
    }
}

/// Says the verdict. `objection` is what the host's own code makes of the decision: `None` where the call may run.
pub(crate) fn encode(call: &Call<'_>, verdict: &Verdict, terms: &Terms, objection: Option<Answer>) -> Reply {
    let stepped_back = verdict.findings().iter().find(|finding| finding.kind == FindingKind::Inactive);
    let stepped_back = stepped_back.map(Finding::message);
    let notice = joined(stepped_back.as_deref(), terms.notice.as_deref());
    let input = rewritten(call, terms).filter(|_| !verdict.decision().denies());
    let tells = notice.is_some() || terms.context.is_some();
    let client_makes = objection.unwrap_or_else(|| no_objection(input.is_some(), verdict.granted(), tells));
    let message = terms.message(verdict);
    let answer = verdict.answer();
    let body = Body {
        // A host that runs the changed input has contained it.
        decision: Some(
            if verdict.decision().contains() { Decision::Allow } else { verdict.decision() }.word(),
        ),
        contained: verdict.decision().contains().then_some(true),
        granted: verdict.granted().then_some(true),
        // A host that cannot answer in the user's stead denies with the same words.
        reason: answer.or(message.as_deref()),
        answer,
        input,
        context: terms.context.as_deref(),
        notice,
        ..Body::default()
    };
    print(client_makes, &body)
}

/// What has happened cannot be stopped, only shown in another form.
pub(crate) fn tell(phase: Unstoppable, call: &Call<'_>, terms: &Terms) -> Reply {
    let context = terms.context.as_deref();
    let (context, summary) = if phase == Unstoppable::End { (None, context) } else { (context, None) };
    let body = Body {
        decision: Some("allow"),
        output: redacted_whole(terms),
        note: terms.output.as_ref().map(RedactedOutput::note),
        text: terms.said.as_deref(),
        context,
        summary,
        handling: (phase == Unstoppable::Error).then(|| handling(&call.input)),
        notice: terms.notice.clone(),
        ..Body::default()
    };
    let told =
        [body.text, body.context, body.summary, body.handling, body.note.as_deref(), body.notice.as_deref()];
    let tells = told.iter().any(Option::is_some);
    let answer = if body.output.is_some() { Answer::Redact } else { tell_or_silence(tells) };
    print(answer, &body)
}

/// What may go well the next time is tried again; after all else it is the user's turn.
fn handling(error: &Json<'_>) -> &'static str {
    match error.get("recoverable") {
        Some(Json::Bool(true)) => "retry",
        _ => "abort",
    }
}

/// Refuses. After a call that is: show the reason instead of what nobody could look through. An event that stops and shows
/// nothing is let pass, and the person is told.
pub(crate) fn refuse(phase: Option<Phase>, message: &str) -> Reply {
    match phase {
        Some(Phase::Start | Phase::Prompt | Phase::End | Phase::Error | Phase::Other) => {
            let body = Body { decision: Some("allow"), notice: Some(message.to_owned()), ..Body::default() };
            print(Answer::Tell, &body)
        }
        None | Some(Phase::Before | Phase::Permission | Phase::Config | Phase::After) => {
            print(Answer::Deny, &Body { decision: Some("deny"), reason: Some(message), ..Body::default() })
        }
    }
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use super::*;

    #[test]
    fn only_an_error_marked_as_recoverable_is_retried() {
        let error = |value| Json::Object(vec![(Cow::Borrowed("recoverable"), value)]);
        assert_eq!(handling(&error(Json::Bool(true))), "retry");
        for other in [error(Json::Bool(false)), error(Json::Text("true".into())), Json::Null] {
            assert_eq!(handling(&other), "abort");
        }
    }
}
