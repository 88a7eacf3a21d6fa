export const deletedText = (results: number): string =>
  results === 1 ? "a result was deleted" : `${results} results were deleted`;
