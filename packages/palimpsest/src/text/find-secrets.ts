import { findRandomTokens } from "./find-random-tokens.ts";
import { secretShapes } from "./secret-shapes.ts";

/** Where a secret stands. It never holds the secret, so that it can be logged and shown. */
export interface SecretFinding {
  /** A word of ours: `github-token`, `password`, `private-key`. */
  readonly kind: string;
  /** In UTF-16 units; `end` is behind the last one. */
  readonly start: number;
  readonly end: number;
  /** Of the start, from 1. */
  readonly line: number;
}

/** A finding whose line is not known yet. */
export type SecretSpan = Pick<SecretFinding, "kind" | "start" | "end">;

/**
 * Secrets with a recognisable format, values after a name that indicates a secret, and random-looking values in a
 * suspicious position, in this order: where findings overlap, the first rule names the kind. Sorted by position, without
 * overlaps. Masked text yields nothing new.
 */
export function findSecrets(text: string): readonly SecretFinding[] {
  const passwords = findPasswords(text);
  const byName = [...findAssignments(text), ...findRandomTokens(text)];
  // An address may have a name such as `token` before its password: the rest of it is no part of the password.
  const besides = passwords.length === 0 ? byName : withoutOverlaps(byName, passwords);
  return joinFindings(text, [...findShapes(text), ...passwords, ...besides]);
}

/** Overlapping spans become one finding of the kind that comes first in the list. Spans outside of the text are left out. */
export function joinFindings(text: string, spans: readonly SecretSpan[]): readonly SecretFinding[] {
  const ranked = spans
    .map((span, rank) => ({ ...span, rank }))
    .filter(({ start, end }) => start >= 0 && start < end && end <= text.length)
    .toSorted(byStart);
  const joined: (SecretSpan & { readonly rank: number })[] = [];
  for (const span of ranked) {
    const last = joined.at(-1);
    if (last === undefined || span.start >= last.end) {
      joined.push(span);
      continue;
    }
    const { kind, rank } = span.rank < last.rank ? span : last;
    joined[joined.length - 1] = { kind, rank, start: last.start, end: Math.max(last.end, span.end) };
  }
  return joined.length === 0 ? [] : addLines(text, joined);
}

const byStart = (a: SecretSpan, b: SecretSpan): number => a.start - b.start;

/** Those of the first that overlap none of the second. In one walk over both: a text may hold many. */
export function withoutOverlaps(spans: readonly SecretSpan[], others: readonly SecretSpan[]): readonly SecretSpan[] {
  const sorted = others.toSorted(byStart);
  let at = 0;
  return spans.toSorted(byStart).filter(({ start, end }) => {
    while ((sorted[at]?.end ?? Infinity) <= start) at += 1;
    return (sorted[at]?.start ?? Infinity) >= end;
  });
}

function addLines(text: string, spans: readonly SecretSpan[]): readonly SecretFinding[] {
  let line = 1;
  let next = text.indexOf("\n");
  return spans.map(({ kind, start, end }) => {
    for (; next !== -1 && next < start; next = text.indexOf("\n", next + 1)) line += 1;
    return { kind, start, end, line };
  });
}

/** `findings` as `findSecrets` returns them for this text. Each becomes `[secret: <kind>]`; without any, the text is the same. */
export function maskFindings(text: string, findings: readonly SecretSpan[]): string {
  if (findings.length === 0) return text;
  const parts: string[] = [];
  let at = 0;
  for (const { kind, start, end } of findings) {
    parts.push(text.slice(at, start), secretMark(kind));
    at = end;
  }
  return parts.join("") + text.slice(at);
}

/**
 * Replaces each secret in a text by `[secret: <kind>]`. The same secret always gets the same mark, and masking twice changes
 * nothing.
 */
export const maskSecrets = (text: string): string => maskFindings(text, findSecrets(text));

export const secretMark = (kind: string): string => `[secret: ${kind}]`;

/** For a value with a name, as in a JSON object or an environment. Undefined if it does not look like a secret. */
export const namedSecretKind = (name: string, value: string): string | undefined =>
  secretName.test(name) && looksSecret(value, "quoted") ? kindByName(name) : undefined;

function findShapes(text: string): readonly SecretSpan[] {
  return secretShapes.flatMap(({ kind, shape }) =>
    [...text.matchAll(shape)].map((match): SecretSpan => {
      const secret = match.groups?.["secret"] ?? match[0];
      const start = match.index + match[0].lastIndexOf(secret);
      return { kind, start, end: start + secret.length };
    }),
  );
}

const urlPassword = /\b([a-z][a-z0-9+.-]{1,20}:\/\/[^\s/:@"'`<>]{0,200}):([^\s/@"'`<>]{1,200})@/gi;
const authorization =
  /\b((?:Bearer|Authorization["']?\s{0,3}[:=]\s{0,3}["']?(?:Basic|Token))\s{1,3})([A-Za-z0-9._~+/-]{16,}={0,2})/gi;

/** In addresses and in headers. */
function findPasswords(text: string): readonly SecretSpan[] {
  const inAddresses = [...text.matchAll(urlPassword)].flatMap(({ index, 1: before = "", 2: password = "" }) => {
    const start = index + before.length + 1;
    return isPlaceholder(password) ? [] : [{ kind: "password", start, end: start + password.length }];
  });
  const inHeaders = [...text.matchAll(authorization)].flatMap(({ index, 1: before = "", 2: value = "" }) => {
    const start = index + before.length;
    return hasLetterAndDigit(value) ? [{ kind: "authorization", start, end: start + value.length }] : [];
  });
  return [...inAddresses, ...inHeaders];
}

const secretName =
  /(?:passw(?:or)?d|passphrase|pwd|secret|token|api[_-]?key|access[_-]?key|secret[_-]?key|private[_-]?key|credentials?)$/i;

/** `--password x`, `password=x`, `"password": "x"`, `PASSWORD=x`, `api_key: x`. */
const assignment = new RegExp(
  String.raw`(--(?:[a-z]{1,20}-){0,3})?` +
    String.raw`(passw(?:or)?d|passphrase|pwd|secret|token|api[_-]?key|access[_-]?key|secret[_-]?key|private[_-]?key|credentials?)` +
    String.raw`(\\?["']?(?:[ \t]{0,4}(?:=>|:=|[:=])[ \t]{0,4}|[ \t]{1,4}))` +
    "(?:(\\\\?[\"'`])([^\"'`\\n\\\\]{4,512})\\4|([^\\s\"'`,;(){}\\[\\]<>|&\\\\]{4,512}(?![\\w(])))",
  "gi",
);

function findAssignments(text: string): readonly SecretSpan[] {
  const spans: SecretSpan[] = [];
  for (const match of text.matchAll(assignment)) {
    const [, flag, name = "", between = "", quote = "", quoted, bare] = match;
    // Without a separator between name and value it is prose, unless the name is a command-line option.
    if (between.trim() === "" && flag === undefined) continue;
    const value = quoted ?? bare ?? "";
    const isSetting = name === name.toUpperCase() && between === "=";
    const notation = quoted !== undefined ? "quoted" : isSetting || flag !== undefined ? "setting" : "bare";
    if (!looksSecret(value, notation)) continue;
    const start = match.index + (flag ?? "").length + name.length + between.length + quote.length;
    spans.push({ kind: kindByName(name), start, end: start + value.length });
  }
  return spans;
}

function kindByName(name: string): string {
  const lower = name.toLowerCase();
  if (/passw|pwd|passphrase/.test(lower)) return "password";
  if (lower.endsWith("token")) return "token";
  return lower.endsWith("key") ? "key" : "secret";
}

/** Code is full of `token = next()` and `password: string`: only a literal value can be a secret. */
function looksSecret(value: string, notation: "quoted" | "setting" | "bare"): boolean {
  if (isPlaceholder(value) || /\s/.test(value)) return false;
  if (/^(?:https?:|urn:|[.~]?\/|[A-Z]:\\)/i.test(value) || isVersion(value)) return false;
  switch (notation) {
    case "setting":
      return value.length >= 4 && !/^\d{1,3}$/.test(value);
    case "quoted":
      return (
        value.length >= 6 &&
        !isWords(value) &&
        (value.length >= 16 || hasLetterAndDigit(value) || /[^\w.:-]/.test(value))
      );
    case "bare":
      return value.length >= 6 && !isExpression(value) && hasLetterAndDigit(value);
  }
}

/** `${password}`, `<token>`, `%s`, `your-api-key`, `****`, `sk-...`, `ghp_xxx`, and values that are masked already. */
const isPlaceholder = (value: string): boolean =>
  /^(?:[$%<{[]|\\?u003c|x{3,}|\*+|\.{3}|your|my[-_]|example|changeme|placeholder|redacted|dummy|test[-_]?|fake|null|none|undefined|true|false|string|number|process\.|os\.|env\.)/i.test(
    value,
  ) || /(?:\.{3}|…|[-_]x{3,}|^pass(?:wd|word)?)$/i.test(value);

/** The version of a package whose name ends in such a word. */
const isVersion = (value: string): boolean =>
  /^[~^<>=v]{0,2}\d{1,4}\.\d{1,5}\.\d{1,6}(?:[-+][\w.]{1,20})?$/.test(value);

/** Names and text keys: words joined by punctuation, or a single word. */
const isWords = (value: string): boolean =>
  /^\??[a-z]+(?:[._/:-][a-z]+)*$/i.test(value) &&
  (/[._/:-]/.test(value) || /^\??[A-Z]?[a-z]*(?:[A-Z][a-z]+)*$|^[A-Z]+$/.test(value));

/** `config.token2`, `sha256_of_x`, `Uint8Array`: an identifier or a property path. */
const isExpression = (value: string): boolean =>
  /^[A-Za-z_$][\w$]*(?:\??\.[A-Za-z_$][\w$]*)+$/.test(value) ||
  /^[a-z]+(?:[A-Z_][a-z0-9]*)+$/.test(value) ||
  /^(?:[A-Z][a-z]{2,}\d{0,3}|[A-Z]\d{1,4}){2,}$/.test(value) ||
  (/^[a-z]+\d{1,2}$/.test(value) && value.length < 6);

const hasLetterAndDigit = (value: string): boolean => /[A-Za-z]/.test(value) && /\d/.test(value);
