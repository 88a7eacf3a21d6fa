/** What a refused request gets back. SDKs choose their error class by status and `error_code`. */
export const statusByErrorType = {
  invalid_request_error: 400,
  authentication_error: 401,
  billing_error: 402,
  permission_error: 403,
  not_found_error: 404,
  conflict_error: 409,
  request_too_large: 413,
  rate_limit_error: 429,
  api_error: 500,
  timeout_error: 504,
  overloaded_error: 529,
} as const;

export type ErrorType = keyof typeof statusByErrorType;

export interface ErrorBody {
  readonly type: "error";
  readonly error: {
    readonly type: ErrorType;
    readonly message: string;
    readonly details?: { readonly error_code: string; readonly unsupported?: readonly string[] };
  };
  readonly request_id: string | null;
}
