#ifndef WEIR_APP_CHECKPOINT_VERIFY_FRAMES_H
#define WEIR_APP_CHECKPOINT_VERIFY_FRAMES_H

/*
 * The frames in flight of a checkpoint, each by its header: what is said of them in the manifest is
 * what lies there. The checksum of their segment has been proven before, numbers and k, m by the
 * manifest's own check; here it is shown that the writer took the right bytes. Own parsing, so that
 * a fault of the engine is not repeated.
 *
 * Failure: WEIR_ERR_DATA, err names the channel's edge, the number and the reason.
 */

#include "engine/checkpoint/manifest.h"

/* Those that lie in segment ms, whose bytes are there; other segments hold none. */
WEIR_MUST_USE int weir_checkpoint_verify_frames(const struct weir_manifest *m,
						const struct weir_manifest_segment *ms,
						const uint8_t *bytes, struct weir_error *err);

#endif /* WEIR_APP_CHECKPOINT_VERIFY_FRAMES_H */
