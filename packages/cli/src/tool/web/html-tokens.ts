import { sourcePieceChars } from "./limits.ts";
import { type Token, Tokenizer, type TokenHandler, TokenizerMode } from "parse5";

type HtmlToken =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "open"; readonly name: string; readonly attributes: Attributes }
  | { readonly kind: "close"; readonly name: string };

export type Attributes = readonly { readonly name: string; readonly value: string }[];

/**
 * Tags and texts in order, without comments and skipped elements, as the HTML standard reads them. One batch for each
 * piece of the source, which may be empty: the caller can pause between two. Never throws. Cost: linear in the source.
 *
 * Only parse5's tokenizer is used, not its tree: a tree is built in one go, and depth has no meaning for a text.
 */
export function* htmlTokens(html: string): Generator<readonly HtmlToken[]> {
  const reader = new TokenReader();
  for (let at = 0; at < html.length; at += sourcePieceChars)
    yield reader.read(html.slice(at, at + sourcePieceChars), "more");
  yield reader.read("", "end");
}

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

/** Elements in which `<` begins no tag but their own end. The standard leaves this to the builder of a tree. */
const modeByElement: ReadonlyMap<string, Tokenizer["state"]> = new Map([
  ["iframe", TokenizerMode.RAWTEXT],
  ["noembed", TokenizerMode.RAWTEXT],
  ["noframes", TokenizerMode.RAWTEXT],
  ["noscript", TokenizerMode.RAWTEXT],
  ["plaintext", TokenizerMode.PLAINTEXT],
  ["script", TokenizerMode.SCRIPT_DATA],
  ["style", TokenizerMode.RAWTEXT],
  ["textarea", TokenizerMode.RCDATA],
  ["title", TokenizerMode.RCDATA],
  ["xmp", TokenizerMode.RAWTEXT],
]);

class TokenReader implements TokenHandler {
  readonly onParseError = null;
  readonly #tokenizer: Tokenizer;
  #tokens: HtmlToken[] = [];
  /** The skipped element that is open, and how many of its name are open. */
  #skipped: { readonly name: string; depth: number } | undefined;

  constructor() {
    this.#tokenizer = new Tokenizer({ sourceCodeLocationInfo: false }, this);
  }

  read(piece: string, after: "more" | "end"): readonly HtmlToken[] {
    this.#tokenizer.write(piece, after === "end");
    if (after === "more") this.#tokenizer.flushCharacters();
    const tokens = this.#tokens;
    this.#tokens = [];
    return tokens;
  }

  onStartTag({ tagName: name, attrs: attributes, selfClosing }: Token.TagToken): void {
    if (this.#skipped?.name === "svg" && name !== "svg") return;
    // A drawing follows the rules of XML, in which `<svg/>` is whole.
    if (name === "svg" && selfClosing) return;
    this.#tokenizer.state = modeByElement.get(name) ?? this.#tokenizer.state;
    if (this.#skipped !== undefined) this.#skipped.depth += this.#skipped.name === name ? 1 : 0;
    else if (skippedElements.has(name)) this.#skipped = { name, depth: 1 };
    else this.#tokens.push({ kind: "open", name, attributes });
    this.#tokenizer.inForeignNode = this.#skipped?.name === "svg";
  }

  onEndTag({ tagName: name }: Token.TagToken): void {
    if (this.#skipped === undefined) this.#tokens.push({ kind: "close", name });
    else if (this.#skipped.name === name) {
      this.#skipped.depth -= 1;
      if (this.#skipped.depth === 0) this.#skipped = undefined;
      this.#tokenizer.inForeignNode = this.#skipped?.name === "svg";
    }
  }

  onCharacter({ chars }: Token.CharacterToken): void {
    if (this.#skipped !== undefined || chars === "") return;
    const last = this.#tokens.at(-1);
    // The tokenizer tells words and blanks apart; a reader of text does not.
    if (last?.kind === "text") this.#tokens[this.#tokens.length - 1] = { kind: "text", text: last.text + chars };
    else this.#tokens.push({ kind: "text", text: chars });
  }

  onWhitespaceCharacter(token: Token.CharacterToken): void {
    this.onCharacter(token);
  }

  onNullCharacter(): void {}
  onComment(): void {}
  onDoctype(): void {}
  onEof(): void {}
}
