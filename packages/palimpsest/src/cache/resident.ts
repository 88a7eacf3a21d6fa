import type { ToolUseId } from "../schema/brand.ts";

/** A result that stands whole in the view and could be cleared. */
export interface Resident {
  readonly toolUse: ToolUseId;
  readonly tool: string;
  /** What clearing it would save: its own tokens less those of the marker. */
  readonly tokens: number;
  readonly chars: number;
  /** The round in which it came. The first reply is round 1. */
  readonly bornRound: number;
  /** The turn in which it came. */
  readonly bornTurn: number;
  /** The last round in which it was quoted or its file was edited; `bornRound` if never. */
  readonly lastUsedRound: number;
  /** The round since which it is out of date, because the file was read again after a change. */
  readonly supersededRound: number | undefined;
  /** It stays as long as there is room: the newest failed result, or a file that the user named in the newest message. */
  readonly isHeld: boolean;
  /** Tokens of everything between it and the next resident, including the marker that would replace it. */
  readonly behindTokens: number;
  /** Its neighbours, as long as it is a resident. */
  readonly before: Resident | undefined;
  readonly after: Resident | undefined;
}

/** The same, as the inventory keeps it up to date. */
export interface ResidentState extends Resident {
  /** The assumed size of the marker that would replace it. */
  readonly markerTokens: number;
  readonly path: string | undefined;
  readonly acts: "read" | "write" | undefined;
  lastUsedRound: number;
  supersededRound: number | undefined;
  isHeld: boolean;
  behindTokens: number;
  isResident: boolean;
  before: ResidentState | undefined;
  after: ResidentState | undefined;
}

/** The nearest one before it that is still a resident. */
export function nearestResidentBefore({ before }: ResidentState): ResidentState | undefined {
  let resident = before;
  while (resident !== undefined && !resident.isResident) resident = resident.before;
  return resident;
}
