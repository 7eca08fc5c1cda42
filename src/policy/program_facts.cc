// SPDX-License-Identifier: Apache-2.0
//
// Facts about programs, one line for those that share them:
//
//   PROGRAM... : FACT...                        programs
//   PROGRAM[,PROGRAM...] / NAME... : FACT...    their subcommands
//   $VARIABLE... : CATEGORY                     variables that change what commands do
//
// A fact is a category; `build` or `publish`; what follows the program's own options (`command`,
// `joined_text`, `first_text`, `template`, `subcommands`), after `skip=N` operands; `shell` or
// `interpreter`; or one of ProgramFacts' lists. FLAGS->CATEGORY is what options add, !FLAGS->
// what their absence does. A program that is not here is taken to change files.
#include "policy/program_table.h"

namespace agentfs::policy {

std::string_view BuiltInFacts() {
  return R"FACTS(
# Reading.
cat tac head tail wc nl od hexdump strings cut paste join comm fold fmt column rev expand unexpand tr pr : read_only
base64 base32 md5sum sha1sum sha224sum sha256sum sha384sum sha512sum b2sum cksum sum crc32 : read_only
uniq xxd : mutating reads_up_to=1
tree : read_only writes=-o -R->mutating
file : read_only takes=-m,-f,-F,-e,-P -C,--compile->mutating
ls dir vdir stat du df lsblk findmnt readlink realpath dirname basename pathchk namei getfacl getfattr lsattr : read_only
pwd whoami id groups who w users uname arch nproc uptime cal tty locale getconf free vmstat : read_only
ps pgrep pidof pstree lsof netstat : read_only
date : read_only takes=-d,-f,-r,--date,--file,--reference -s,--s,--set->host_escape_risk
hostname ifconfig : host_escape_risk mutating reads_up_to=0
ip : host_escape_risk mutating reads_up_to=2 takes=-n,-netns,-f,-family -b,-batch,-force,-B,exec,flush->host_escape_risk
ss : read_only -K,--kill->host_escape_risk -D,--diag->mutating
echo true false yes seq sleep expr numfmt factor : read_only
printf test [ let unset read getopts : read_only suspect=[$(,[`
which whereis type : read_only
diff cmp diff3 colordiff wdiff : read_only
sdiff : read_only writes=-o,--output --diff-program->host_escape_risk
delta bat batcat : read_only --pager->host_escape_risk
grep egrep fgrep zgrep : read_only skip=1
ag ack : read_only skip=1 --pager->host_escape_risk
rg : read_only skip=1 --pre,--hostname-bin->host_escape_risk
jq yq xmllint tidy csvcut csvlook : read_only skip=1 in_place=-i,--in-place,--inplace writes=-o,--output
zcat bzcat xzcat zstdcat zless lzcat : read_only
printenv locate mlocate apropos whatis getent lscpu lspci lsusb lsmod nm objdump readelf size addr2line c++filt : read_only
ldd : mutating
dmesg : read_only -C,-c,-D,-E,-n,--clear,--read-clear,--console-off,--console-on,--console-level->host_escape_risk
look tsort ptx shuf dircolors : read_only writes=-o,--output
sort : read_only writes=-o,--output --compress-program->host_escape_risk
cloc tokei scc sloccount wcalc : read_only
gcov lcov gprof : build mutating
less more most view man info pinfo : interactive -P,--pager->host_escape_risk
top htop btop atop iotop nmon : interactive reading=-b
find : read_only long_options commands=-exec,-execdir,-ok,-okdir -delete->destructive in_place=-delete writes=-fprint,-fprint0,-fls,-fprintf
fd fdfind : read_only skip=1 commands=-x,--exec,-X,--exec-batch
awk gawk mawk nawk original-awk : awk skip=1 instead=-f,-e,-E,--file,--source,--exec takes=-v,-F,-f,-e,-E,-i,-l,--assign,--field-separator,--file,--source,--exec code=-l,--load -i,--include,-W->mutating -f,-E,--file,--exec->mutating writes=-d,-o,-p,--dump-variables,--pretty-print,--profile
sed gsed ssed : sed skip=1 instead=-e,-f,--expression,--file takes=-e,-f,-l,--expression,--file in_place=-i,-I,--in-place -f,--file->mutating

# What a shell does by itself.
: exit return break continue shift wait jobs fg bg times logout caller help dirs unalias : read_only
hash : read_only -p->host_escape_risk
history : read_only -w,-a->mutating
set : read_only suspect=[$(,[`
shopt ulimit umask disown suspend : read_only
compgen : read_only code=-C,-F,-W
local declare typeset export readonly : read_only assignments suspect=[$(,[`
mapfile readarray : read_only code=-C
cd chdir pushd popd : read_only changes_directory
source . : mutating interpreter
alias : first_text host_escape_risk reading=-p
complete compopt bind : read_only code=-C,-x,-F,-f,-W
enable : read_only -f->host_escape_risk
eval : joined_text
exec : command takes=-a
command : command reading=-v,-V
builtin : command
trap : first_text reading=-p,-l
coproc : command

# Programs that run another one.
env : command assignments takes=-u,-C,--unset,--chdir,--argv0 text=-S,--split-string
nice : command takes=-n,--adjustment
ionice : command takes=-c,-n,-p,-P,-u,--class,--classdata
chrt taskset : command skip=1 takes=-T,-P,-D
nohup setsid stdbuf unbuffer fakeroot eatmydata dbus-run-session xvfb-run catchsegv : command takes=-i,-o,-e,-s,-n,-l,-f
time : command takes=-f,-o,--format,--output writes=-o,--output
timeout gtimeout : command skip=1 takes=-k,-s,--kill-after,--signal
strace ltrace : command takes=-e,-o,-p,-s,-u,-E,-S,-O,-I,-a,-b,-P writes=-o,--output
valgrind heaptrack : command mutating
perf rr : mutating subcommands reads_up_to=0
perf,rr / stat record trace replay : command mutating
perf,rr / report annotate script list : read_only
gdb lldb : interactive mutating code=-ex,-x,--eval-command,--command,--ex,-iex,-o,-s --args->host_escape_risk
flock : command skip=1 takes=-w,-E,--timeout,--wait,--conflict-exit-code text=-c,--command
script : interactive mutating text=-c,--command
watch : joined_text takes=-n,-d,--interval
entr : template appends
parallel : template appends takes=-j,-a,-S,--jobs,--arg-file,--colsep,-I,-C,-N,-n,-L,--results,--joblog,--timeout,--retries,--halt -S,--sshlogin->networked+host_escape_risk
xargs : command appends takes=-I,-n,-P,-L,-s,-d,-E,-a,--arg-file,--delimiter,--max-args,--max-procs,--max-lines,--max-chars,--replace
busybox toybox : command --install->mutating
npx bunx pnpx : command networked mutating takes=-p,--package text=-c,--call
uvx pipx : networked mutating
watchexec nodemon : template appends takes=-w,-e,-i,--watch,--exts
direnv : host_escape_risk
tmux screen : interactive mutating host_escape_risk
run-parts : mutating
start-stop-daemon at batch crontab systemd-run : host_escape_risk mutating

# Privileges, containers, the host.
sudoedit : host_escape_risk interactive
sudo doas pkexec run0 : host_escape_risk command assignments takes=-u,-g,-h,-p,-C,-D,-R,-T,-U,-r,-t,--user,--group,--host,--prompt,--chdir
su runuser sg newgrp : host_escape_risk text=-c,--command
chroot unshare nsenter bwrap firejail systemd-nspawn setpriv capsh proot : host_escape_risk
docker podman nerdctl buildah lxc kubectl helm minikube vagrant docker-compose crictl ctr virsh qemu-system-x86_64 : host_escape_risk networked
mount umount swapon swapoff losetup mkfs mkswap fdisk parted sfdisk cryptsetup lvm zpool zfs btrfs tune2fs e2fsck fsck blkdiscard wipefs hdparm fusermount fusermount3 : host_escape_risk
mkfs.ext4 mkfs.xfs mkfs.btrfs mkfs.vfat mkfs.ext3 mkfs.ext2 : host_escape_risk destructive
systemctl service initctl rc-service journalctl loginctl hostnamectl timedatectl : host_escape_risk
shutdown reboot halt poweroff init telinit kexec : host_escape_risk destructive
insmod rmmod modprobe depmod sysctl setenforce iptables ip6tables nft ufw firewall-cmd : host_escape_risk
useradd userdel usermod groupadd groupdel groupmod passwd chpasswd adduser deluser visudo chsh chfn : host_escape_risk
setcap setfacl chattr : host_escape_risk mutating
kill pkill killall killall5 fuser renice : mutating

# Shells and interpreters.
sh bash dash zsh ksh mksh ash yash rbash fish tcsh csh : shell text_operand=-c,--command takes=-o,-O,--rcfile,--init-file --rcfile,--init-file->host_escape_risk reading=--version,--help
python pypy ipython : interpreter mutating takes=-W,-X,-Q code=-c modules=-m reading=--version,-V,-VV,--help,-h
node nodejs : interpreter mutating takes=-r,--require,--import,--loader,-C,--conditions code=-e,-p,-pe,--eval,--print reading=--version,-v,--help,-h,-c,--check
bun : interpreter mutating subcommands code=-e,-p,--eval,--print reading=--version,-v
deno : interpreter mutating subcommands reading=--version
deno / eval repl : host_escape_risk
deno / run test bench : mutating networked
deno / fmt : mutating
deno / lint check : build mutating
perl : interpreter mutating takes=-I,-M,-m code=-e,-E reading=--version,-v,-V
ruby jruby : interpreter mutating takes=-I,-r,-C code=-e reading=--version,-v
php : interpreter mutating instead=-f,-S takes=-d,-c,-f,-S code=-r,-B,-R,-E reading=--version,-v,-m,-i,-l
lua luajit : interpreter mutating takes=-l code=-e reading=-v
R Rscript julia tclsh wish expect guile scheme racket sbcl clisp ghci scala groovy elixir iex erl swift ocaml octave osascript pwsh powershell jshell : interpreter mutating code=-e,-E,--eval,--expr,-c,-command,-Command,-f,-r reading=--version
irb pry bpython ptpython gore evcxr : interactive
bc : prompts
dc : interpreter code=-e,--expression
vim vi nvim nano emacs pico joe micro ed ex ne mcedit helix hx kak gedit code subl : interactive mutating code=-c,-S,--cmd,--eval,-l,--load,-f,-s suspect=!
rlwrap socat : host_escape_risk networked

# Changing files.
touch mkdir mkfifo mknod truncate mktemp : mutating writes_all
cp install ln gcp : mutating writes_last writes=-t,--target-directory
mv rename prename : mutating writes_all writes=-t,--target-directory
chmod chown chgrp : mutating writes_all skip=1
rm rmdir unlink shred srm trash trash-put : destructive writes_all
dd : destructive writes=of
tee sponge : writes_all
split csplit : mutating --filter->host_escape_risk
patch : mutating writes=-o,--output
tar bsdtar gtar : mutating letters_first takes=-f,-C,-T,-X,--file,--directory,--files-from,--exclude-from writes=-C,--directory -I,-F,--to-command,--use-compress-program,--checkpoint-action,--info-script,--new-volume-script,--rsh-command,--rmt-command->host_escape_risk reading=-t,--list
unzip gzip gunzip bzip2 bunzip2 xz unxz zstd unzstd pigz : mutating reading=-l,-t,--list,--test
zip : mutating -TT,--unzip-command->host_escape_risk
7z 7za rar unrar lz4 : mutating
cpio : mutating reading=-t,--list --rsh-command->host_escape_risk
dos2unix unix2dos iconv recode : mutating
sqlite3 : interpreter mutating skip=1 suspect=.shell,.system,.load,load_extension,.excel,edit( takes=-cmd,-separator,-nullvalue
pandoc asciidoctor sphinx-build mkdocs doxygen dot pdflatex xelatex latexmk gnuplot convert magick ffmpeg ffprobe inkscape : mutating -F,--filter,-shell-escape,--shell-escape->host_escape_risk

# Building and checking.
make gmake bmake remake : build mutating instead=-f,--file,--makefile takes=-C,-f,--file,--makefile,-I,-o,-W,-j --eval,-E->host_escape_risk suspect=SHELL=
ninja samu meson scons bazel bazelisk buck2 waf premake4 premake5 gn xmake just task : build mutating
cmake : build mutating -E->destructive -P->mutating takes=-S,-B,-G,-D,-P,-C,--preset,--build
ctest cpack : build mutating
gcc g++ cc c++ clang clang++ ld ld.lld lld as nasm yasm ar ranlib strip objcopy rustc javac kotlinc scalac tsc swc esbuild go-build protoc flatc cython cythonize mold : build mutating -wrapper,-fplugin->host_escape_risk
ghc : build mutating code=-e
ccache sccache distcc : command build mutating
pytest py.test tox nox nose2 unittest doctest mypy pyright flake8 pylint bandit coverage pre-commit codespell compileall py_compile json.tool tokenize ast dis : build mutating
jest vitest mocha ava karma cypress playwright webpack rollup vite parcel next nuxt turbo nx lerna : build mutating
cppcheck iwyu include-what-you-use shellcheck staticcheck yamllint hadolint : build mutating
black isort autopep8 yapf rustfmt ktlint : mutating
clang-format clang-tidy shfmt gofmt goimports golangci-lint prettier eslint stylelint biome standard ruff : build mutating -i,-w,--write,--fix,-fix,--fix-errors,format->mutating
timeit : host_escape_risk
gradle gradlew mvn mvnw ant sbt lein mill : build mutating networked subcommands
gradle,gradlew,mvn,mvnw / build test compile check package verify clean assemble : build mutating
gradle,gradlew,mvn,mvnw / publish deploy release uploadArchives : publish networked mutating
dotnet : build mutating networked subcommands
dotnet / build test run format clean publish : build mutating
dotnet / add restore tool new : mutating networked
dotnet / nuget : networked mutating publish
cargo : mutating subcommands reads_up_to=0 reads_up_to=0 takes=-Z,-C,--config,--color guard=--config=term.|build.jobs
cargo / build b check c test t bench doc d clippy run r clean nextest expand : build mutating --fix->mutating
cargo / fmt fix : mutating
cargo / tree metadata version locate-project read-manifest verify-project help pkgid : read_only
cargo / add remove update fetch generate-lockfile vendor new init : mutating networked
cargo / install uninstall search info : mutating networked
cargo / publish yank owner login logout : publish networked mutating
go : mutating subcommands takes=-C
go / fmt fix generate : mutating
go / build test vet run clean tool : build mutating -toolexec,-exec,--toolexec,--exec->host_escape_risk
go / list env version doc help : read_only -w,-u->mutating
go / get install mod work : mutating networked
rustup : networked mutating

# Packages.
npm pnpm : mutating subcommands reads_up_to=0 takes=-C,--prefix,-w,--workspace,--filter
yarn : networked mutating subcommands takes=-C,--prefix,-w,--workspace,--filter
npm,pnpm,yarn / test t tst run run-script start stop restart build lint dev format typecheck check : build mutating
npm,pnpm,yarn / ls list ll la why explain root prefix bin view info show outdated help config get fund : read_only set,delete,edit->mutating
npm,pnpm,yarn / install i ci add remove uninstall rm update upgrade up audit dedupe rebuild link unlink init create import fetch prune : networked mutating
npm,pnpm,yarn / exec x dlx : command networked mutating takes=-p,--package text=-c,--call
npm,pnpm,yarn / publish unpublish deprecate dist-tag owner access login logout adduser token team star unstar : publish networked mutating
bun / install i add remove update create x upgrade pm : networked mutating
bun / run test build : build mutating
bun / publish : publish networked mutating
pip uv poetry pipenv pdm hatch conda mamba micromamba rye : networked mutating subcommands reads_up_to=0
pip,uv,poetry,pipenv,pdm,hatch,conda,mamba,micromamba,rye / list show freeze check help version debug info : read_only
pip,uv,poetry,pipenv,pdm,hatch,conda,mamba,micromamba,rye / cache config env : mutating reading=list,show,get,debug
poetry,pipenv,pdm,hatch,uv,rye,conda,mamba,micromamba / run : command mutating
poetry,pdm,hatch,uv,rye / build : build mutating
poetry,pdm,hatch,uv,rye / publish : publish networked mutating
uv / pip : networked mutating
twine : publish networked mutating
gem bundle bundler : networked mutating subcommands
gem,bundle,bundler / list info help env outdated show : read_only
gem / push yank owner signin : publish networked mutating
bundle,bundler / exec : command mutating
rake rspec rubocop minitest : build mutating
composer cabal stack opam luarocks cpan cpanm nuget vcpkg conan mix rebar3 hex : networked mutating
phpunit phpstan psalm php-cs-fixer : build mutating
apt apt-get brew dnf yum : networked mutating host_escape_risk subcommands
aptitude zypper pacman apk emerge port snap flatpak nix nix-env nix-shell guix choco winget scoop : networked mutating host_escape_risk
apt,apt-get,brew,dnf,yum / list show search policy info : read_only
apt-cache dpkg-query apt-mark rpmquery : read_only
dpkg rpm : host_escape_risk mutating reading=-l,-L,-S,-s,-q,-V,--list,--listfiles,--search,--status,--query,-p
venv virtualenv ensurepip : mutating
http.server SimpleHTTPServer smtpd : networked

# The network.
curl : networked writes=-o,--output,--output-dir,-D,--dump-header,-c,--cookie-jar,--trace takes=-H,-d,-X,-u,-A,-e,-F,-T,-b,-x,-m,-w,-K,-r,-C,--header,--data,--data-raw,--data-binary,--request,--user,--url,--form,--upload-file,--max-time,--connect-timeout,--retry -O,-J,--remote-name,--remote-name-all->mutating
wget wget2 aria2c axel : networked mutating writes=-O,--output-document,-P,--directory-prefix,-o --use-askpass,--on-download-complete->host_escape_risk
http https httpie xh lynx w3m links elinks : networked
ping ping6 traceroute tracepath mtr dig nslookup host whois nmap arp : networked
telnet ftp sftp lftp tftp : networked interactive mutating
nc ncat netcat : networked -e,-c,--exec,--sh-exec->host_escape_risk
ssh mosh autossh sshpass rsh rexec : networked host_escape_risk
scp rcp rclone unison : networked mutating -S,-o->host_escape_risk
rsync : networked mutating writes_last -e,--rsh,--rsync-path->host_escape_risk --delete,--delete-after,--delete-before,--remove-source-files->destructive
ssh-add ssh-agent ssh-copy-id gpg pass keyctl secret-tool : host_escape_risk
ssh-keygen : mutating
openssl : networked mutating
aws gcloud gsutil az doctl heroku flyctl fly vercel netlify firebase wrangler terraform tofu pulumi ansible ansible-playbook chef puppet salt serverless sls cdk sam eb surge : networked mutating host_escape_risk
psql mysql mariadb mongo mongosh redis-cli cqlsh sqlcmd influx clickhouse-client : interpreter networked mutating instead=-c,-f,-e,-l,--command,--file,--execute,--eval,--list takes=-h,-p,-U,-d,-u,-P,-D,-c,-e,-f,-n,--host,--port,--username,--dbname suspect=\!
mail sendmail mutt msmtp mailx swaks : networked publish mutating
gh glab hub : networked mutating subcommands publish reads_up_to=0
gh,glab / status help version : networked
gh,glab / pr issue repo run release workflow search label gist mr : subcommands networked mutating publish
gh pr,gh issue,gh repo,gh run,gh release,gh workflow,gh search,gh label,gh gist,glab mr,glab issue / list view status diff checks watch code commits issues prs repos : networked
gh pr,gh repo,gh gist,glab mr / checkout clone : networked mutating

# git. An unknown subcommand may be an alias, which runs anything.
git : host_escape_risk subcommands reads_up_to=0 takes=-C,-c,--git-dir,--work-tree,--namespace,--super-prefix,--config-env,--exec-path,--attr-source --exec-path,--config-env,--git-dir->host_escape_risk guard=-c=user.|color.|advice.|core.quotepath|core.abbrev|core.autocrlf|core.filemode|core.safecrlf|init.defaultbranch|commit.gpgsign|tag.gpgsign|log.|pull.|push.default|merge.conflictstyle|diff.algorithm|diff.renames|diff.context|safe.directory|http.sslverify|http.postbuffer|protocol.version|rerere.|gc.|pack.|index.|core.pager=cat|column.|status.|rebase.autostash|rebase.autosquash|fetch.
git / status log show diff blame annotate shortlog describe rev-parse rev-list ls-files ls-tree cat-file grep whatchanged name-rev merge-base for-each-ref show-ref show-branch diff-tree diff-index diff-files count-objects version help check-ignore check-attr check-ref-format var cherry range-diff get-tar-commit-id verify-commit verify-tag fsck stripspace patch-id diff-pairs archive : read_only writes=-o,--output --ext-diff,-O,--open-files-in-pager,--exec,--textconv->host_escape_risk --remote->networked
git / add stage rm mv merge cherry-pick revert apply am init notes update-index write-tree commit-tree mktree update-ref symbolic-ref hash-object read-tree pack-refs repack gc maintenance rerere replace sparse-checkout format-patch mailinfo mailsplit merge-file merge-tree bundle pack-objects unpack-objects index-pack interpret-trailers switch : mutating -p,--patch,-i,--interactive->interactive
git / commit : mutating !-m,-F,-C,--message,--file,--no-edit,--reuse-message,--dry-run,--fixup,--squash,-am,-h->interactive -p,--patch,--interactive,-e,--edit->interactive takes=-m,-F,-C,-c,-t,--message,--file,--author,--date,--template
git / rebase : mutating text=-x,--exec -i,--interactive,--edit-todo->interactive
git / reset clean checkout restore filter-repo prune : destructive -p,--patch,-i,--interactive->interactive
git / filter-branch : destructive text=--tree-filter,--index-filter,--msg-filter,--env-filter,--commit-filter,--parent-filter,--tag-name-filter,--setup
git / stash bisect : subcommands mutating
git / remote reflog submodule lfs worktree : subcommands mutating reads_up_to=0
git / tag : mutating reads_up_to=0 reading=-l,--list,-v,--verify -d,--delete,-f,--force->destructive
git worktree / list : read_only
git worktree / add move prune remove lock unlock repair : mutating
git / branch : mutating reads_up_to=0 -D,-d,--delete,-f,--force->destructive -u,--set-upstream-to,--unset-upstream,-m,-M,-c,-C,--move,--copy->mutating --edit-description->interactive reading=--list,-a,-r,-v,-vv,--show-current,--contains,--merged,--no-merged,--all,--remotes,--verbose
git stash / list show : read_only
git stash / drop clear pop apply push save create store branch : destructive -p,--patch->interactive
git remote / get-url : read_only
git remote / show : networked
git remote / add remove rm rename set-url set-branches set-head prune : mutating
git remote / update : networked mutating
git reflog / show exists : read_only
git reflog / expire delete : destructive
git / config : mutating reads_up_to=1 reading=--get,--get-all,--get-regexp,--list,-l,--get-urlmatch,--show-origin,get,list guard=@1=user.|color.|advice.|core.quotepath|core.autocrlf|core.filemode|init.defaultbranch|commit.gpgsign|tag.gpgsign|pull.|push.default|branch.|remote.|merge.conflictstyle|rerere.|log.|safe.directory|http.sslverify|http.postbuffer -e,--edit->interactive --file,-f,--global,--system,--unset,--unset-all,--remove-section,--rename-section,--add,--replace-all,set,unset->mutating
git submodule / status summary : read_only
git submodule / add update init sync deinit absorbgitdirs set-branch set-url : networked mutating
git submodule / foreach : joined_text mutating
git bisect / start good bad new old skip reset log view visualize replay terms : mutating
git bisect / run : command mutating
git lfs / ls-files status env track untrack : mutating
git lfs / pull push fetch install clone : networked mutating
git / fetch pull clone ls-remote : networked mutating --upload-pack,-u,-c,--config,--template->host_escape_risk suspect=ext::
git / push : publish networked mutating --receive-pack,--exec->host_escape_risk -f,--force,--force-with-lease,--mirror,-d,--delete,--prune->destructive suspect=ext::
git / request-pull send-email svn p4 cvsimport imap-send : publish networked mutating
git / difftool mergetool gui gitk citool instaweb : interactive host_escape_risk
git / daemon http-backend upload-pack receive-pack shell credential credential-store credential-cache : networked host_escape_risk
hg svn bzr fossil cvs darcs jj pijul : networked mutating subcommands
hg,svn,bzr,fossil,jj / status st log diff cat annotate blame info identify id show list ls help : read_only
hg,svn,bzr,fossil,jj / commit ci add remove rm revert update up resolve merge mv cp copy move branch new describe squash edit : mutating
hg,svn,bzr,jj / push : publish networked mutating

# Variables whose value is run, or chooses what is run.
$LD_PRELOAD $LD_AUDIT $BASH_ENV $ENV $PROMPT_COMMAND $PS4 $SHELLOPTS $BASHOPTS $SHELL : host_escape_risk
$GIT_SSH $GIT_SSH_COMMAND $GIT_EXTERNAL_DIFF $GIT_PROXY_COMMAND $GIT_ASKPASS $SSH_ASKPASS $GIT_EXEC_PATH $GIT_TEMPLATE_DIR $GIT_CONFIG_GLOBAL $GIT_CONFIG_SYSTEM $GIT_CONFIG_COUNT $GIT_CONFIG_PARAMETERS $GIT_DIR : host_escape_risk
$EDITOR $VISUAL $GIT_EDITOR $GIT_SEQUENCE_EDITOR $PAGER $GIT_PAGER $MANPAGER $BROWSER $LESSOPEN $LESSCLOSE $FCEDIT $SUDO_ASKPASS $SUDO_EDITOR $TAR_OPTIONS $RSYNC_RSH $CVS_RSH : host_escape_risk
$RIPGREP_CONFIG_PATH $LESS $LESSKEY $GCONV_PATH $LUA_INIT $GIT_ALLOW_PROTOCOL $ZDOTDIR $FPATH $BASH_LOADABLES_PATH $BAT_PAGER $DELTA_PAGER $SYSTEMD_PAGER $SYSTEMD_EDITOR $SVN_SSH $SVN_EDITOR $HGEDITOR $HGRCPATH $OPENSSL_CONF $DOTNET_STARTUP_HOOKS $PYTHONBREAKPOINT $PYTHONWARNINGS $RUSTC_WORKSPACE_WRAPPER $PS0 $PS1 $PS2 : host_escape_risk
$PERL5OPT $PERL5DB $PYTHONSTARTUP $PYTHONINSPECT $RUBYOPT $RUSTC_WRAPPER $MAKEFLAGS $MAKEFILES : host_escape_risk
$PATH $LD_LIBRARY_PATH $NODE_OPTIONS $JAVA_TOOL_OPTIONS $CLASSPATH $PYTHONPATH $PERL5LIB $RUBYLIB $NODE_PATH $GOFLAGS $CDPATH $PYTHONHOME $HOME $XDG_CONFIG_HOME $GIT_INDEX_FILE $GIT_OBJECT_DIRECTORY $GIT_WORK_TREE $GIT_CONFIG $AWKPATH $AWKLIBPATH $LUA_PATH $LUA_CPATH $JDK_JAVA_OPTIONS $_JAVA_OPTIONS $R_PROFILE $R_PROFILE_USER $PHPRC $PHP_INI_SCAN_DIR $CURL_HOME $WGETRC $LOCPATH $MALLOC_TRACE $LD_DEBUG_OUTPUT $LD_PROFILE $LD_PROFILE_OUTPUT $GLIBC_TUNABLES : mutating
$GIT_TRACE $GIT_TRACE2 $GIT_TRACE2_EVENT $GIT_TRACE2_PERF $GIT_TRACE_PACKET $GIT_TRACE_PACKFILE $GIT_TRACE_SETUP $GIT_TRACE_PERFORMANCE $GIT_TRACE_CURL $GIT_TRACE_REFS $GIT_TRACE_FSMONITOR : mutating
)FACTS";
}

}  // namespace agentfs::policy
