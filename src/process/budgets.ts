import type { Config } from '../config';
import { DEFAULT_ADMISSION_LIMITS, type AdmissionLimits } from '../http/admission';
import { bytesInFlight } from './memory';

/** The settings that budgets come from. */
export type BudgetSettings = Pick<Config, 'maxBodyBytes' | 'maxConnections'> &
  Partial<Pick<Config, 'memoryLimit'>>;

/** What a process with so many event loops holds at once. */
export function admissionLimits(settings: BudgetSettings, loops = 1): AdmissionLimits {
  const { answers } = DEFAULT_ADMISSION_LIMITS;
  const bodyBytes = bytesInFlight(settings);
  return {
    ...DEFAULT_ADMISSION_LIMITS,
    // Slow bodies leave a half of the connections to others. An event loop without one may have one beyond the limit.
    arrivingBodies: Math.max(1, Math.floor(settings.maxConnections / 2) - (loops - 1)),
    bodyBytes,
    answers: { ...answers, bytes: Math.min(answers.bytes, bodyBytes) },
  };
}
