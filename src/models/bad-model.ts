/** Why a list of models cannot be used: completes the sentence "`KITHDB_MODELS` …". */
export class BadModel extends Error {
  override readonly name = 'BadModel';
}
