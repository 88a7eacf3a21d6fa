import { z } from "zod";
import type { Block, Message, TextBlock, ToolResultBlock } from "../../schema/block.ts";
import type { JsonObject } from "../../schema/json.ts";
import {
  type DocumentVerdict,
  judgeDocument,
  type ImageVerdict,
  judgeImage,
  type OmissionReason,
  longestSide,
  stubText,
} from "./judge-image.ts";
import { imagesFew, imagesStep, manyImagesSideMax, mediaCharsMax, mediaCharsStep } from "./limits.ts";

/**
 * The last check of a request's images and documents: whatever a transcript holds, its own or imported, what is sent is
 * within the API's limits. A pure function of the messages, so the same view gives the same bytes. If a limit applies
 * to all together, the oldest are left out, several at a time.
 *
 * Remembers what it found out about a block as long as the block lives: an image is examined once, and an unchanged
 * block stays the same object.
 */
export class ImageGuard {
  /** The messages of the newest request; `#media` is what they hold. */
  #seen: readonly Message[] = [];
  #media: Medium[] = [];
  readonly #verdicts = new WeakMap<object, Verdict>();
  readonly #stubs = new WeakMap<object, TextBlock>();
  readonly #results = new WeakMap<object, { readonly stubs: string; readonly block: ToolResultBlock }>();

  guard(messages: readonly Message[], options: GuardOptions): GuardOutcome {
    const media = this.#mediaIn(messages);
    const whyByMedium = new Map<Medium, OmissionReason>();
    for (const medium of media) {
      const verdict = this.#judge(medium);
      if (verdict.kind === "flawed") whyByMedium.set(medium, verdict.flaw);
    }
    this.#leaveOutLarge(media, whyByMedium);
    leaveOutOldest(media, { whyByMedium, countMax: options.countMax });
    leaveOutHeavy(media, whyByMedium);
    if (whyByMedium.size === 0) return { messages, leftOut: 0 };
    return { messages: this.#replaceMedia(messages, { whyByMedium, idOf: options.idOf }), leftOut: whyByMedium.size };
  }

  /** Most messages are those of the previous request and are not examined again. */
  #mediaIn(messages: readonly Message[]): readonly Medium[] {
    const seen = this.#seen;
    let same = 0;
    while (same < seen.length && seen[same] === messages[same]) same += 1;
    this.#media = this.#media.filter(({ message }) => message < same);
    for (const [at, message] of messages.slice(same).entries()) this.#media.push(...mediaIn(message, same + at));
    this.#seen = [...messages];
    return this.#media;
  }

  #judge({ part, what }: Medium): Verdict {
    const known = this.#verdicts.get(part);
    if (known !== undefined) return known;
    const verdict = what === "image" ? judgeImage(part) : judgeDocument(part);
    this.#verdicts.set(part, verdict);
    return verdict;
  }

  /**
   * Among many images none may be large. Leaving out the oldest large ones until few images are left has the same
   * effect.
   */
  #leaveOutLarge(media: readonly Medium[], whyByMedium: Map<Medium, OmissionReason>): void {
    const images = media.filter((medium) => medium.what === "image" && !whyByMedium.has(medium));
    const over = inSteps(images.length - imagesFew);
    const large = images.filter((medium) => {
      const { header } = this.#judge(medium).facts;
      return header !== undefined && longestSide(header) > manyImagesSideMax;
    });
    for (const medium of large.slice(0, over)) whyByMedium.set(medium, "many-large");
  }

  #replaceMedia(messages: readonly Message[], context: StubContext): readonly Message[] {
    const stubbed = Map.groupBy(context.whyByMedium.keys(), ({ message }) => message);
    return messages.map((message, at) => {
      const mediaByBlock = Map.groupBy(stubbed.get(at) ?? [], ({ block }) => block);
      if (mediaByBlock.size === 0) return message;
      const content = message.content.map((block) => {
        const media = mediaByBlock.get(block);
        if (media === undefined) return block;
        if (block.type === "tool_result") return this.#stubResult(block, { media, context });
        return media[0] === undefined ? block : this.#stub(media[0], context);
      });
      return { ...message, content };
    });
  }

  #stubResult(
    block: ToolResultBlock,
    { media, context }: { readonly media: readonly Medium[]; readonly context: StubContext },
  ): Block {
    const stubByPart = new Map<object, TextBlock>(media.map((medium) => [medium.part, this.#stub(medium, context)]));
    const stubs = media.map((medium) => `${medium.index} ${stubByPart.get(medium.part)?.text ?? ""}`).join("\n");
    const known = this.#results.get(block);
    if (known?.stubs === stubs || typeof block.content !== "object") return known?.block ?? block;
    const content = block.content.map((part): JsonObject => {
      const stub = stubByPart.get(part);
      return stub === undefined ? part : { type: stub.type, text: stub.text };
    });
    const stubbed = { ...block, content };
    this.#results.set(block, { stubs, block: stubbed });
    return stubbed;
  }

  #stub(medium: Medium, { whyByMedium, idOf }: StubContext): TextBlock {
    const { block, part, what } = medium;
    const id = block.type === "tool_result" ? block.tool_use_id : idOf?.(block);
    const why = whyByMedium.get(medium) ?? "too-many";
    const text = stubText({ what, why, facts: this.#judge(medium).facts, id });
    const known = this.#stubs.get(part);
    if (known?.text === text) return known;
    const stub: TextBlock = { type: "text", text };
    this.#stubs.set(part, stub);
    return stub;
  }
}

interface GuardOptions {
  /** Images and documents that one request may hold: `imagesMax` of the model's window. */
  readonly countMax: number;
  /** The id under which `recall` returns the entry of a block in a user's message. */
  readonly idOf?: (block: Block) => string | undefined;
}

interface GuardOutcome {
  /** The same list as the input if nothing had to be left out. */
  readonly messages: readonly Message[];
  readonly leftOut: number;
}

type Verdict = ImageVerdict | DocumentVerdict;

/** An image or document, and where it stands. */
interface Medium {
  readonly message: number;
  readonly block: Block;
  readonly part: object;
  /** Index in its result; 0 in a message. */
  readonly index: number;
  readonly what: "image" | "document";
}

interface StubContext {
  readonly whyByMedium: ReadonlyMap<Medium, OmissionReason>;
  readonly idOf: GuardOptions["idOf"];
}

function mediaIn({ content }: Message, message: number): readonly Medium[] {
  return content.flatMap((block): readonly Medium[] => {
    if (block.type === "image" || block.type === "document")
      return [{ message, block, part: block, index: 0, what: block.type }];
    if (block.type !== "tool_result" || typeof block.content !== "object") return [];
    return block.content.flatMap((part, index) => {
      const what = part["type"];
      return what === "image" || what === "document" ? [{ message, block, part, index, what }] : [];
    });
  });
}

function leaveOutOldest(
  media: readonly Medium[],
  { whyByMedium, countMax }: { readonly whyByMedium: Map<Medium, OmissionReason>; readonly countMax: number },
): void {
  const remaining = media.filter((medium) => !whyByMedium.has(medium));
  for (const medium of remaining.slice(0, inSteps(remaining.length - countMax))) whyByMedium.set(medium, "too-many");
}

/** Limits the total size in the body, again the oldest first. */
function leaveOutHeavy(media: readonly Medium[], whyByMedium: Map<Medium, OmissionReason>): void {
  const remaining = media.filter((medium) => !whyByMedium.has(medium));
  const sizes = remaining.map(({ part }) => countEncodedChars(part));
  const over = sizes.reduce((sum, size) => sum + size, 0) - mediaCharsMax;
  let excessChars = Math.ceil(over / mediaCharsStep) * mediaCharsStep;
  for (const [at, medium] of remaining.entries()) {
    if (excessChars <= 0) return;
    excessChars -= sizes[at] ?? 0;
    whyByMedium.set(medium, "too-many");
  }
}

const encodedShape = z.object({ source: z.object({ data: z.string() }) });
const countEncodedChars = (part: object): number => encodedShape.safeParse(part).data?.source.data.length ?? 0;

const inSteps = (over: number): number => Math.max(0, Math.ceil(over / imagesStep) * imagesStep);
