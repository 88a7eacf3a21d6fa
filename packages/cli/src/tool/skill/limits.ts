import { bytes } from "palimpsest/internal/schema/brand";

/** Skills are announced to every session that may use them: more than these are a library. */
export const skillsMax = 200;
/** Folders and files checked in one location, so that a folder that is not for skills does not slow every turn. */
export const skillFoldersMax = 1_000;
/** Maximum size of a SKILL.md: a model reads it and is sent at most `skillBodyCharsMax` of it. */
export const skillFileBytesMax = bytes(2 ** 20);
/** The tool's result is never offloaded, so it must fit into a result as it is. */
export const skillBodyCharsMax = 100_000;
/** The ecosystem's limits: a name is a word that users type, a description a few sentences. */
export const skillNameCharsMax = 64;
export const skillDescriptionCharsMax = 1_024;
export const skillArgsCharsMax = 4_000;
/** Maximum length of the front matter, which has three short fields: longer YAML is not parsed. */
export const skillFrontCharsMax = 16_384;
/**
 * Maximum length of a whole announcement: about 2,500 tokens. Skills beyond it are named without their descriptions.
 */
export const skillListCharsMax = 10_000;
/** Names listed in the answer to a call for an unknown skill. */
export const skillNamesToldMax = 50;
