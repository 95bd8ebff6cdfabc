import type { RequestHandler } from 'express';
import { noteForAudit } from '../../http/audit-fields';
import type { AuthService } from '../service';
import { answerEnvelope, answering } from './answer';
import { checked, jsonBody, matched, missing } from './request-body';

/** `PATCH /auth/enabled` (C3.7). */
export function setEnabled(auth: Promise<AuthService>): readonly RequestHandler[] {
  return [
    jsonBody,
    checked((body) => [
      body('enabled')
        .exists({ values: 'null' })
        .withMessage(missing('enabled'))
        .bail()
        .custom((value: unknown) => typeof value === 'boolean')
        .withMessage('enabled must be a boolean'),
    ]),
    answering(async (request, response) => {
      const { enabled } = await matched<{ readonly enabled: boolean }>(request);
      noteForAudit(response, { enabled });
      answerEnvelope(response, await (await auth).setEnabled(enabled));
    }),
  ];
}
