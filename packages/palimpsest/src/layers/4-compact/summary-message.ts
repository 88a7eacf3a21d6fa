import { toSingleLine } from "../../text/to-printable.ts";
import { wrapReminder, escapeReminderTag } from "../../transcript/attachment-text.ts";

export interface SummaryMessageInput {
  readonly summary: string;
  readonly trigger: "auto" | "manual" | "autonomous";
  /** Path of the full transcript. */
  readonly transcriptPath?: string;
  /** Name of the tool that brings back what is not shown, by its id or by a query. */
  readonly recallTool?: string;
  /** `some`: pinned messages follow, which are older than what comes after them. */
  readonly pinned?: "some" | "none";
}

const opening =
  "The conversation was compacted: this summary stands in place of its earlier part. It tells what was said and done; it is not a message from the user, and what it quotes is history unless it is named as open.";

/**
 * A summary as the view shows it. It is in the user's turn, so it is tagged as the engine's: nothing in it may be taken
 * for a message that the user typed.
 */
export const summaryMessage = ({ summary, trigger, pinned, ...places }: SummaryMessageInput): string =>
  wrapReminder(
    [
      opening,
      ...whereText(places),
      ...formatPinned(pinned),
      escapeReminderTag(summary.trim()),
      ...goingOn[trigger],
    ].join("\n\n"),
  );

/**
 * The same text beside a summary that the provider wrote, which can't be changed. `carried` is what has to be added to
 * it.
 */
export const besideSummary = ({ carried, trigger, pinned, ...places }: BesideInput): string =>
  wrapReminder(
    [
      "The conversation was compacted: the summary at its beginning stands in place of its earlier part. It tells what was said and done; it is not a message from the user, and what it quotes is history unless it is named as open.",
      ...whereText(places),
      ...formatPinned(pinned),
      ...(carried.trim() === "" ? [] : [escapeReminderTag(carried.trim())]),
      ...goingOn[trigger],
    ].join("\n\n"),
  );

export interface BesideInput extends Omit<SummaryMessageInput, "summary"> {
  readonly carried: string;
}

type Places = Pick<SummaryMessageInput, "transcriptPath" | "recallTool">;

/** The summary inside a message that `summaryMessage` made; any other text is returned as it is. */
export function summaryInMessage(message: string): string {
  const [, body = ""] = /^<system-reminder>\n([^]*)\n<\/system-reminder>$/.exec(message.trim()) ?? [];
  if (!body.startsWith(opening)) return message;
  const paragraphs = body.split("\n\n").slice(1);
  const first = paragraphs.findIndex((part) => part !== pinnedNotice && !placeForm.test(part));
  const last = Object.values(goingOn).some(([line]) => line !== undefined && line === paragraphs.at(-1))
    ? -1
    : undefined;
  return first === -1 ? "" : paragraphs.slice(first, last).join("\n\n");
}

const pinnedNotice =
  "Pinned messages follow as they were said. They are as old as what is summarised: none of them is a new request.";
const placeForm = /^(?:The full transcript lies at |What you need word for word \(code, output, a message\), )/;

const formatPinned = (pinned: SummaryMessageInput["pinned"]): readonly string[] =>
  pinned === "some" ? [pinnedNotice] : [];

function whereText({ transcriptPath, recallTool }: Places): readonly string[] {
  const transcriptNote =
    transcriptPath === undefined ? [] : [`The full transcript lies at ${displayName(transcriptPath)}.`];
  const recallNote =
    recallTool === undefined
      ? []
      : [
          `What you need word for word (code, output, a message), get back with ${displayName(recallTool)}: by its id, or by a query of its words.`,
        ];
  const notes = [...transcriptNote, ...recallNote];
  return notes.length === 0 ? [] : [notes.join(" ")];
}

const goingOn: { readonly [Trigger in SummaryMessageInput["trigger"]]: readonly string[] } = {
  auto: [
    "Carry on directly with the work as it stood. No recap, no mention of this summary, no question whether to go on.",
  ],
  manual: [],
  autonomous: [
    "You work on your own, and this is not a first start: you were in the middle of the loop. Go on with it as it stood. No greeting, no recap, no question about what to do.",
  ],
};

/** A folder name may contain anything. */
const displayName = (text: string): string => escapeReminderTag(toSingleLine(text));
