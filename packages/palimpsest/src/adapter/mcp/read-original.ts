import { entryTexts } from "../../recall/entry-texts.ts";
import type { RecalledOriginal } from "../../ports/recall-index.ts";
import { isArray, tryParseJson } from "../../schema/json.ts";
import { readLines } from "../../transcript/read-lines.ts";
import type { McpProject } from "./mcp-project.ts";
import { renderBlocks } from "./render-view.ts";

/** What an id of a hit stands for, as text without secrets: `session/id`, an id with its session, or a memory's path. */
export async function readOriginal(
  project: McpProject,
  { id, session }: { readonly id: string; readonly session: string | undefined },
): Promise<string | undefined> {
  // As the model sees it: a stranger's words are quoted.
  const memory = await project.memories?.read(id);
  if (memory !== undefined) return await project.showMemory(memory);
  const slash = id.lastIndexOf("/");
  const places = [
    ...(session === undefined ? [] : [[session, id] as const]),
    ...(slash <= 0 ? [] : [[id.slice(0, slash), id.slice(slash + 1)] as const]),
    [id, id] as const,
  ];
  for (const [place, name] of places) {
    const original = await project.expand(place, name);
    if (original !== undefined) return await project.mask(renderOriginal(original));
  }
  return undefined;
}

function renderOriginal({ kind, bytes, form }: RecalledOriginal): string {
  const text = new TextDecoder().decode(bytes);
  if (kind === "entry") {
    const entry = readLines({ bytes, start: 0 }).logged[0]?.entry;
    const texts = entry === undefined ? [] : entryTexts(entry).map((part) => part.text);
    return texts.length === 0 ? text : texts.join("\n");
  }
  const blocks = kind === "result" && form === "json" ? tryParseJson(text) : undefined;
  return isArray(blocks) ? renderBlocks(blocks) : text;
}
