// Flow from level: straight lines between points that somebody has measured from a boat.

/** A curve that was not measured again for so long is told to be old. */
const oldMillis = 700 * 86_400_000;

const curves = new Map([
  [
    "HARROW",
    {
      measuredAt: Date.parse("2025-06-02"),
      points: [
        [80, 4],
        [160, 19],
        [240, 47],
        [320, 96],
        [440, 212],
      ],
    },
  ],
  [
    "QUERN",
    {
      measuredAt: Date.parse("2022-09-20"),
      points: [
        [40, 1],
        [120, 8],
        [200, 24],
        [300, 61],
      ],
    },
  ],
]);

/** In cubic metres a second. Undefined without a curve, and outside of it: nobody was there. */
export function flowAt(code, levelCm) {
  const points = curves.get(code)?.points ?? [];
  const upper = points.findIndex(([level]) => level >= levelCm);
  if (upper === -1) return undefined;
  const [high, most] = points[upper];
  if (high === levelCm) return most;
  if (upper === 0) return undefined;
  const [low, least] = points[upper - 1];
  return least + ((levelCm - low) / (high - low)) * (most - least);
}

export function isOld(code, now) {
  const curve = curves.get(code);
  return curve !== undefined && now - curve.measuredAt > oldMillis;
}

/** `96 m³/s`, with a doubt where the curve is old. */
export function flowText(code, levelCm, now) {
  const flow = flowAt(code, levelCm);
  if (flow === undefined) return "unknown";
  return `${isOld(code, now) ? "about " : ""}${Math.round(flow)} m³/s`;
}
