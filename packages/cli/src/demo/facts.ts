import { toolUseId } from "palimpsest/internal/schema/brand";

/** Said once, in the first message: whoever knows it later has not lost that message. */
export const releaseName = "4.2.1-heron";

/** By which the sample project's tests are run, and what a rule allows: in one process, which is much faster. */
export const testCommand = "node --test --test-isolation=none";

/** In the model's first answer, which the person pins. */
export const causeText = "one second for each minute of the offset";
export const pinnedText = `added ${causeText}, so late readings stayed on the day before`;

export const nightLogPath = "logs/night.log";

/** The call that prints the whole log. */
export const nightLogCallId = toolUseId("toolu_demo_night_log");

/** In the middle of the log. */
export const hiddenLogLine = "05:48:29 bulletin QUERN 2026-03-15 says 187 cm, its gauge 192 cm: DISAGREES";

/** Of the call that the session is killed in. Where nobody ends it, it ends soon. */
export const longCommand = "sleep 30";
