;;; smoke.el --- A short session with eglot, in batch  -*- lexical-binding: t -*-

;;   RECIPE=FILE WORKSPACE=FOLDER LIMIT=SECONDS emacs --batch -l smoke.el
;;
;; RECIPE is the user's set-up.  Each step prints a line; the first that fails ends Emacs with the code 1.

;;; Code:

(require 'eglot)
(require 'flymake)
(require 'seq)
(require 'subr-x)

(defvar smoke-folder (file-name-as-directory (file-truename (getenv "WORKSPACE"))))
(defvar smoke-limit (string-to-number (getenv "LIMIT")))
(defvar smoke-began (float-time))
(defvar smoke-messages nil)

(defun smoke-until (what test)
  "Wait until TEST gives non-nil, and give it; fail with WHAT after the time limit."
  (let ((end (+ (float-time) smoke-limit)) value)
    (while (and (not (setq value (funcall test))) (< (float-time) end))
      ;; eglot tells of changes from an idle timer, and in batch Emacs is never idle
      (when (bound-and-true-p eglot--managed-mode) (eglot--signal-textDocument/didChange))
      (accept-process-output nil 0.1))
    (unless value (error "Waited %s s for %s" smoke-limit what))
    (smoke-note what)
    value))

(defun smoke-commands ()
  "Do what batch leaves out after a command and when a buffer is shown."
  (run-hooks 'post-command-hook)
  (run-hooks 'window-configuration-change-hook))

(defun smoke-note (what)
  (princ (format "%7.2f  %s\n" (- (float-time) smoke-began) what)))

(defun smoke-check (what value)
  (unless value (error "Not so: %s" what))
  (smoke-note what))

(defun smoke-findings (count)
  "Wait until Flymake has COUNT findings of ours, and give them by place."
  (smoke-until (format "%d findings" count)
               (lambda ()
                 (let ((found (flymake-diagnostics)))
                   (and (= (length found) count)
                        (or (seq-sort-by #'flymake-diagnostic-beg #'< found) t))))))

(defun smoke-at (text)
  (goto-char (point-min))
  (search-forward text)
  (goto-char (match-beginning 0)))

(defun smoke-act (title)
  "Do what a user does who calls `eglot-code-actions' and chooses TITLE."
  (cl-letf* ((last-nonmenu-event ?\r) ; chosen by keys, not in a menu of a window system
             (chosen nil)
             ((symbol-function 'completing-read)
              (lambda (_prompt collection &rest _)
                (setq chosen (seq-find (lambda (each) (string-search title each))
                                       (all-completions "" collection)))
                (or chosen (error "No action %S in %S" title (all-completions "" collection)))))
             ((symbol-function 'read-char-choice) (lambda (&rest _) ?y))
             ((symbol-function 'y-or-n-p) (lambda (&rest _) t)))
    (call-interactively #'eglot-code-actions))
  (smoke-note (concat "action: " title)))

(defun smoke-session ()
  (advice-add 'message :before
              (lambda (&rest args)
                (when (stringp (car args))
                  (push (ignore-errors (apply #'format-message args)) smoke-messages))))
  (setq make-backup-files nil
        eglot-autoshutdown t
        eglot-sync-connect 60
        flymake-no-changes-timeout 0.1)
  (load (getenv "RECIPE") nil t t)
  (find-file (expand-file-name "net.py" smoke-folder))
  (call-interactively #'eglot)
  (smoke-until "the server" #'eglot-current-server)
  (smoke-check "it is ours"
               (string= "graphmend" (plist-get (slot-value (eglot-current-server) 'server-info) :name)))

  (let ((found (smoke-findings 2)))
    (smoke-check "the branch is flagged at its place"
                 (string= "h.abs().max() > 10"
                          (buffer-substring (flymake-diagnostic-beg (car found))
                                            (flymake-diagnostic-end (car found)))))
    (smoke-check "with its message"
                 (string-search "is known only on the device" (flymake-diagnostic-text (car found)))))

  (smoke-at "h.abs()")
  (let (told)
    (eglot-hover-eldoc-function (lambda (text &rest _) (setq told text)))
    (smoke-until "a hover" (lambda () (and told (string-search "select with torch.where" told)))))

  (let ((before (buffer-string)))
    (smoke-act "Compute both sides and select with torch.where")
    (smoke-until "the fix" (lambda ()
                             (string-search "h = torch.where(h.abs().max() > 10, h.clamp(-10, 10), h)"
                                            (buffer-string))))
    (smoke-findings 1)
    (setq buffer-undo-list (seq-drop-while #'null buffer-undo-list))
    (primitive-undo 1 buffer-undo-list)
    (smoke-until "undo" (lambda () (string= before (buffer-string))))
    (smoke-findings 2))

  (find-file (expand-file-name "train.py" smoke-folder))
  (smoke-commands)
  (smoke-until "the server for the second file" #'eglot-managed-p)
  (smoke-findings 2)
  (smoke-at "x.mean()")
  (setq smoke-messages nil)
  (smoke-act "Why no fix?")
  (smoke-until "the reason"
               (lambda () (seq-some (lambda (each) (and each (string-search "changes a container" each)))
                                    smoke-messages)))
  (smoke-at "(x < 0)")
  (smoke-check "no fix that makes a file"
               (not (string-search "as an effect of the graph" (format "%S" (smoke-actions)))))
  (smoke-check "executeCommand"
               (string-search "graphmend-lsp"
                              (eglot-execute-command (eglot-current-server)
                                                     'graphmend.printDebugInformation [])))
  (eglot-shutdown (eglot-current-server))
  (smoke-check "the server has ended" (null (eglot-current-server))))

(defun smoke-actions ()
  (jsonrpc-request (eglot-current-server) :textDocument/codeAction
                   (list :textDocument (eglot--TextDocumentIdentifier)
                         :range (list :start (eglot--pos-to-lsp-position) :end (eglot--pos-to-lsp-position))
                         :context (list :diagnostics []))))

(condition-case problem
    (smoke-session)
  (error
   (princ (format "FAILED: %s\n---- buffer\n%s\n---- messages\n%s\n---- events\n%s\n"
                  (error-message-string problem) (buffer-string)
                  (string-join (delq nil (reverse smoke-messages)) "\n")
                  (let ((server (eglot-current-server)))
                    (if server
                        (with-current-buffer (jsonrpc-events-buffer server)
                          (buffer-substring (max (point-min) (- (point-max) 6000)) (point-max)))
                      ""))))
   (kill-emacs 1)))
(dolist (buffer (buffer-list)) (with-current-buffer buffer (set-buffer-modified-p nil)))
(kill-emacs 0)
;;; smoke.el ends here
