import { instructionFiles } from "palimpsest/internal/memory/instruction-files";
import type { AskedImport } from "palimpsest/internal/memory/load-instruction-file";
import { loadInstructions } from "palimpsest/internal/memory/load-instructions";
import type { Workspace } from "../../host/workspace.ts";
import { instructionPlace, type InstructionPlaceInput } from "./instruction-place.ts";

interface PendingImportsInput extends Omit<InstructionPlaceInput, "home" | "reading"> {
  readonly workspace: Pick<Workspace, "home" | "settings">;
}

/** Files outside of the project that its instructions include, and about which the user has not been asked. */
export async function pendingImports({ workspace, ...input }: PendingImportsInput): Promise<readonly AskedImport[]> {
  const { reading } = await workspace.settings();
  // Addresses are not fetched: what they import is not followed.
  const place = { ...instructionPlace({ ...input, home: workspace.home, reading }), named: localOnly(reading) };
  const { asked } = await loadInstructions(instructionFiles, place);
  return asked.filter(({ answer }) => answer === "unasked");
}

const localOnly = ({ namedInstructions }: InstructionPlaceInput["reading"]) =>
  namedInstructions.filter(({ written }) => !written.includes("://"));
