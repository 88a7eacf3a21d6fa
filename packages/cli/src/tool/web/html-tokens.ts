import { tagCharsMax, textPieceChars } from "./limits.ts";

type HtmlToken =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "open"; readonly name: string; readonly attributes: string }
  | { readonly kind: "close"; readonly name: string };

/** Elements whose content is not text for a reader. */
const skippedElements: ReadonlySet<string> = new Set([
  "canvas",
  "iframe",
  "noscript",
  "object",
  "script",
  "style",
  "svg",
  "template",
]);

/** Tags and texts in order, without comments and skipped elements. Never throws. Cost: linear in the source. */
export function* htmlTokens(html: string): Generator<HtmlToken> {
  let at = 0;
  while (at < html.length) {
    const start = markupStart(html, at);
    const end = start === -1 ? html.length : start;
    while (at < end) {
      const piece = pieceEnd(html, { from: at, end });
      yield { kind: "text", text: decodeEntities(html.slice(at, piece)) };
      at = piece;
    }
    if (start === -1) return;
    const read = markupAt(html, start);
    if (read.token !== undefined) yield read.token;
    at = read.end;
  }
}

/** A `<` before anything else is plain text. */
function markupStart(html: string, from: number): number {
  markup.lastIndex = from;
  return markup.exec(html)?.index ?? -1;
}

const markup = /<(?=\/?[a-z]|[!?])/gi;

/** A long text comes in pieces, none of which ends within a character reference. */
function pieceEnd(html: string, { from, end }: { readonly from: number; readonly end: number }): number {
  if (end - from <= textPieceChars) return end;
  const last = from + textPieceChars;
  const sign = html.lastIndexOf("&", last - 1);
  return sign > from && last - sign < signCharsMax ? sign : last;
}

/** The longest `&name;` that is decoded below. */
const signCharsMax = 40;

interface Markup {
  readonly token: HtmlToken | undefined;
  readonly end: number;
}

function markupAt(html: string, start: number): Markup {
  if (html.startsWith("<!--", start))
    return { token: undefined, end: skipPast(html, { mark: "-->", from: start + 4 }) };
  if (/[!?]/.test(html.charAt(start + 1)))
    return { token: undefined, end: skipPast(html, { mark: ">", from: start + 2 }) };
  tagStart.lastIndex = start;
  const [whole = "<", slash, written = ""] = tagStart.exec(html) ?? [];
  const name = written.toLowerCase();
  const end = tagEnd(html, start + whole.length);
  if (slash === "/") return { token: { kind: "close", name }, end };
  if (skippedElements.has(name)) return { token: undefined, end: skipElement(html, { name, from: end }) };
  return { token: { kind: "open", name, attributes: html.slice(start + whole.length, end - 1) }, end };
}

const tagStart = /<(\/?)([a-z][a-z0-9:-]{0,40})/iy;

/** Markup that is never closed goes on to the end. */
function skipPast(html: string, { mark, from }: { readonly mark: string; readonly from: number }): number {
  const found = html.indexOf(mark, from);
  return found === -1 ? html.length : found + mark.length;
}

function skipElement(html: string, { name, from }: { readonly name: string; readonly from: number }): number {
  const close = new RegExp(`</${name}(?![a-z0-9:-])`, "gi");
  close.lastIndex = from;
  const found = close.exec(html);
  return found === null ? html.length : skipPast(html, { mark: ">", from: found.index });
}

/**
 * The position after the `>` that is outside quotes. An unfinished tag ends at the next one, or at the length limit.
 */
function tagEnd(html: string, from: number): number {
  const last = Math.min(html.length, from + tagCharsMax);
  let at = from;
  while (at < last) {
    const sign = html.charAt(at);
    if (sign === ">") return at + 1;
    if (sign === "<") return at;
    if (sign === '"' || sign === "'") {
      const close = html.slice(at + 1, last).indexOf(sign);
      // A quote that is never closed is not a quote.
      at = close === -1 ? at + 1 : at + close + 2;
    } else at += 1;
  }
  return last;
}

/** The value of an attribute; undefined if it is missing. */
export function readAttribute(attributes: string, name: string): string | undefined {
  for (const [, key = "", double, single, unquoted] of attributes.matchAll(attributeForm))
    if (key.toLowerCase() === name) return decodeEntities(double ?? single ?? unquoted ?? "");
  return undefined;
}

const attributeForm = /([^\s"'<>/=]+)(?:\s{0,10}=\s{0,10}(?:"([^"]*)"|'([^']*)'|([^\s"'<>]+)))?/g;

const decodeEntities = (text: string): string =>
  text.includes("&") ? text.replaceAll(/&(#x[0-9a-f]{1,6}|#\d{1,7}|[a-z][a-z0-9]{1,30});/gi, decodeEntity) : text;

function decodeEntity(whole: string, name: string): string {
  if (!name.startsWith("#")) return signByName.get(name) ?? whole;
  const code = /^#x/i.test(name) ? Number.parseInt(name.slice(2), 16) : Number.parseInt(name.slice(1), 10);
  const isCharacter = code > 0 && code <= 0x10_ff_ff && (code < 0xd8_00 || code > 0xdf_ff);
  return isCharacter ? String.fromCodePoint(code) : "\uFFFD";
}

const signByName: ReadonlyMap<string, string> = new Map(
  Object.entries({
    amp: "&",
    apos: "'",
    bull: "•",
    cent: "¢",
    copy: "©",
    deg: "°",
    euro: "€",
    ge: "≥",
    gt: ">",
    hellip: "…",
    laquo: "«",
    larr: "←",
    ldquo: "“",
    le: "≤",
    lsquo: "‘",
    lt: "<",
    mdash: "—",
    middot: "·",
    minus: "−",
    nbsp: " ",
    ndash: "–",
    ne: "≠",
    para: "¶",
    plusmn: "±",
    pound: "£",
    quot: '"',
    raquo: "»",
    rarr: "→",
    rdquo: "”",
    reg: "®",
    rsquo: "’",
    sect: "§",
    shy: "",
    times: "×",
    trade: "™",
    yen: "¥",
    auml: "ä",
    Auml: "Ä",
    eacute: "é",
    egrave: "è",
    ouml: "ö",
    Ouml: "Ö",
    szlig: "ß",
    uuml: "ü",
    Uuml: "Ü",
  }),
);
