// Package untrusted makes text that others wrote safe to publish and safe to
// hand to a model: the model's own answer, diffs, replies, titles, file names.
// Everything here is a pure function of its arguments.
//
// Publishing. [Markdown], [Line], [CodeFence], [CodeSpan] and [CellCode] return
// markdown for a review body or an inline comment on Gitea or Forgejo. Whatever
// the input, the result
//
//   - mentions nobody and refers to no issue, pull request or external ticket,
//     so it notifies nobody and closes nothing: names and numbers stand in code
//     spans, which the server doesn't search;
//   - holds no "<!--" anywhere, code included, so none of the bot's own hidden
//     markers can be forged (see [BreakMarkers]);
//   - holds no raw HTML, no image, no math, no heading and no reference
//     definition, and nothing that stays open behind its end;
//   - holds no bidirectional control and no other invisible character.
//
// The way there is to canonicalise, not to predict a parser. The input is read
// by simple rules of this package's own and written again in a form that leaves
// no choice: fences at column 0 with a fence longer than any inside, code spans
// closed on their line, every other active character as an entity. If this
// package and CommonMark disagree about the input, the layout suffers; the
// safety of the output does not depend on it.
//
// Links to http, https and mailto stay. A link that names an issue or a pull
// request by its URL stays only on github.com, which no Gitea serves: elsewhere
// the server would take it for a reference. All other destinations (relative,
// javascript:, data:) are shown as text.
//
// Asking. [Boundary] and [Fence] set untrusted text off from instructions.
// [Mask] and [Masker] take secrets out of what is asked, published and logged.
// They replace values and never code, and find a token that is apart by
// characters that nobody sees.
//
// Limits: an external tracker with a pattern of its own (style "regexp") may
// still turn a matching word into a link to that tracker; a commit hash may
// become a link to the commit; both notify nobody. Joiners needed by some
// scripts and emoji sequences are removed with the other invisible characters.
// Reference-style links are shown as text.
package untrusted
