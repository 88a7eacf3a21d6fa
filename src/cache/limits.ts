/** The API's own limit for one request. */
export const breakpointsMax = 4;

/** How far behind a breakpoint the provider still looks: 20 positions, the breakpoint itself among them. */
export const lookBackBlocks = 19;

/** Places that earlier requests wrote: as many as a turn of long rounds makes; older ones have expired anyway. */
export const writtenPlacesMax = 256;

/** A drop is a break only above both: counts wobble by some tokens, and a small prefix by some per cent. */
export const breakShareMin = 0.05;
export const breakTokensMin = 2_000;

/** Requests whose figures are kept one by one; the sums hold all of them. */
export const requestCostsMax = 1_000;

/** A buffer for the messages' bytes begins with this, so that a short conversation does not outgrow it at every request. */
export const joinedBytesMin = 64 * 2 ** 10;
