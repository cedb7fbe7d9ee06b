/** Texts in UTF-8 (RFC 3629). */
#ifndef SALTUS_CORE_UTF8_H
#define SALTUS_CORE_UTF8_H

/** Length of the sequence at c, 1 to 4 bytes; 0 if it is none (also overlong forms and surrogates).
 */
int saltus_utf8_length(const unsigned char *c);

/** Put a question mark in the place of every byte that belongs to no sequence. */
void saltus_utf8_mend(char *text);

/** Put a blank in the place of every control character: names in model files may hold anything, and
 * what is shown is one line. */
void saltus_utf8_flatten(char *text);

#endif
