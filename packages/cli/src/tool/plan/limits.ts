/** A plan is read by a person before work begins, and stands again behind every boundary: several pages. */
export const planCharsMax = 20_000;
