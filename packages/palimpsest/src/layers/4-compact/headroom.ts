import { headroomShareMax, headroomTokensMin } from "./limits.ts";

/** What has to be free below the threshold once room was made, or it would be reached again at once. */
export const headroomBelow = (compactTokens: number): number =>
  Math.min(headroomTokensMin, headroomShareMax * compactTokens);
