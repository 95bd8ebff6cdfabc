/** What is known of a failure besides its status and its message. */
export interface FailureDetails {
  /** The id of the request, as the server's log has it (`X-Request-Id`). */
  readonly requestId?: string | undefined;
  /** Seconds after which the server suggests to try again (`Retry-After`). */
  readonly retryAfterSeconds?: number | undefined;
  readonly cause?: unknown;
}

/** Every failure of a call. `message` is the server's own sentence, the same over every transport. */
export class KithError extends Error {
  /** The HTTP status of the answer; 0 when there was no answer. */
  readonly status: number;
  readonly requestId: string | undefined;
  readonly retryAfterSeconds: number | undefined;
  /**
   * After an upsert that was sent in several batches: how many of its points, from the first on, are stored. Each batch
   * is applied completely or not at all.
   */
  storedPoints: number | undefined;

  constructor(message: string, status: number, details: FailureDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.name = new.target.name;
    this.status = status;
    this.requestId = details.requestId;
    this.retryAfterSeconds = details.retryAfterSeconds;
  }
}

/** 400, and other statuses from 402 to 499 that have no class of their own: the request is wrong as it is. */
export class BadRequestError extends KithError {}
/** 401: no credential, or one that is not valid. */
export class AuthenticationError extends KithError {}
/** 403: the credential does not allow this. */
export class PermissionError extends KithError {}
/** 404: the collection, the point or the route does not exist. */
export class NotFoundError extends KithError {}
/** 408: the server gave the request up, because its time was over. */
export class TimeoutError extends KithError {}
/** 409: what is to be created exists, or a condition of the request does not hold. */
export class ConflictError extends KithError {}
/** 412: the server is starting, or the collection is being deleted. */
export class NotReadyError extends KithError {}
/** 413: the body is larger than the server accepts. */
export class TooLargeError extends KithError {}
/** 429: a queue or a budget of the server is full. */
export class OverloadedError extends KithError {}
/** 500, and other statuses from 500 on that have no class of their own. */
export class ServerError extends KithError {}
/** 501: this build does not have it. */
export class NotImplementedError extends KithError {}
/** 503: the server is stopping. */
export class UnavailableError extends KithError {}
/** 507: the disk or the memory that is allowed is full. */
export class StorageFullError extends KithError {}

/** There was no answer: no connection, or it ended before the answer, or the client is closed. */
export class ConnectionError extends KithError {
  /** Whether the operation may have been executed. False when the request cannot have reached the engine. */
  readonly outcomeUnknown: boolean;
  /** Whether another try would fail as well: the client is closed, the certificate is refused, the name is unknown. */
  readonly isPermanent: boolean;

  constructor(
    message: string,
    outcomeUnknown: boolean,
    { isPermanent = false, ...details }: FailureDetails & { readonly isPermanent?: boolean } = {},
  ) {
    super(message, 0, details);
    this.outcomeUnknown = outcomeUnknown;
    this.isPermanent = isPermanent;
  }
}

/** The deadline of the call (`timeoutMs`) has passed; whether the operation was executed is not known. */
export class DeadlineError extends KithError {
  constructor(timeoutMs: number) {
    super(`No answer within ${timeoutMs} ms`, 0);
  }
}

type AnswerErrorClass = new (message: string, status: number, details?: FailureDetails) => KithError;

const CLASSES: ReadonlyMap<number, AnswerErrorClass> = new Map<number, AnswerErrorClass>([
  [401, AuthenticationError],
  [403, PermissionError],
  [404, NotFoundError],
  [408, TimeoutError],
  [409, ConflictError],
  [412, NotReadyError],
  [413, TooLargeError],
  [429, OverloadedError],
  [501, NotImplementedError],
  [503, UnavailableError],
  [507, StorageFullError],
]);

/** The error of an answer with this status, which is not a success. */
export function answerError(status: number, message: string, details: FailureDetails = {}): KithError {
  const ErrorClass = CLASSES.get(status) ?? (status < 500 ? BadRequestError : ServerError);
  return new ErrorClass(message, status, details);
}
