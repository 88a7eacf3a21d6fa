import { humanBytes } from "../../schema/human-bytes.ts";
import type { Bytes, ToolUseId } from "../../schema/brand.ts";

export interface MarkerInput {
  readonly toolUse: ToolUseId;
  /** Of what is cleared, as it is kept. */
  readonly bytes: Bytes;
  /** Where it lies; undefined in a store without paths. */
  readonly path: string | undefined;
  /** The tool by which the model reads files. */
  readonly readingTool: string | undefined;
}

/** What the model is shown of a cleared result. The same input gives the same bytes. */
export function namedMarker({ toolUse, bytes, path, readingTool }: MarkerInput): string {
  const cleared = `Old tool result cleared, ${humanBytes(bytes)}`;
  if (path === undefined) return `[${cleared}. All of it is kept: recall ${toolUse}]`;
  const reading = readingTool === undefined ? "" : ` use ${readingTool} on that file, or`;
  return `[${cleared}. All of it is in ${path};${reading} recall ${toolUse}]`;
}
