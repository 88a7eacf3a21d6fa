import { toolUseId } from "palimpsest/internal/schema/brand";

/** Said once, in the first message: if the model knows it later, that message was not lost. */
export const releaseName = "4.2.1-heron";

/** Runs the sample project's tests, in one process because that is much faster. An allow rule names it. */
export const testCommand = "node --test --test-isolation=none";

/** Part of the model's first answer, which is pinned. */
export const causeText = "one second for each minute of the offset";
export const pinnedText = `added ${causeText}, so late readings stayed on the day before`;

export const nightLogPath = "logs/night.log";

/** The call that prints the whole log. */
export const nightLogCallId = toolUseId("toolu_demo_night_log");

/** A line in the middle of the log. */
export const hiddenLogLine = "05:48:29 bulletin QUERN 2026-03-15 says 187 cm, its gauge 192 cm: DISAGREES";

/** The command that runs when the session is killed. Short, so that it soon ends by itself if it is left behind. */
export const longCommand = "sleep 30";
