import { bytes } from "palimpsest/internal/schema/brand";

/** A skill is announced to every session that may use it: more than these are a library, not a set of skills. */
export const skillsMax = 200;
/** Folders and files looked at below one place, so that a place which is no folder of skills does not slow every turn. */
export const skillFoldersMax = 1_000;
/** Of a SKILL.md: it is read by a model, which is sent at most `skillBodyCharsMax` of it. */
export const skillFileBytesMax = bytes(2 ** 20);
/** A result of the tool is never offloaded, so it stays within what a result may hold by itself. */
export const skillBodyCharsMax = 100_000;
/** As the ecosystem has it: a name is a word that people type, a description is a few sentences. */
export const skillNameCharsMax = 64;
export const skillDescriptionCharsMax = 1_024;
export const skillArgsCharsMax = 4_000;
/** Of the front matter: three short fields; YAML that is longer is not looked into. */
export const skillFrontCharsMax = 16_384;
/** Of a whole announcement: some 2,500 tokens. Skills beyond it are named without what they are for. */
export const skillListCharsMax = 10_000;
/** Names that a call for an unknown skill is answered with. */
export const skillNamesToldMax = 50;
